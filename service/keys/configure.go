package keys

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
)

// ConfigureKeyInput changes limits of a key. With only the id it reads them.
type ConfigureKeyInput struct {
	ID                string            `json:"id" format:"uuid" doc:"id of a key of the account, as list_api_keys gives it"`
	MonthlyRequestCap *int64            `json:"monthly_request_cap,omitempty" minimum:"0" maximum:"1000000000000" doc:"weighted units that the key may use in a period; 0 removes the cap, absent changes nothing"`
	Enabled           *[]string         `json:"enabled,omitempty" maxItems:"8" enum:"rpc,data,gas,tx_status,ens,prices,contracts,utils" doc:"full list of the services that the key may use: rpc, data, gas, tx_status, ens, prices, contracts, utils"`
	Caps              *map[string]int64 `json:"caps,omitempty" maxProperties:"8" doc:"full list of caps by service, in weighted units of a period; an empty one removes all" example:"{\"rpc\":500000,\"data\":20000}"`
	Window            string            `json:"window,omitempty" enum:"1h,6h,12h,24h,3d,7d,30d" default:"30d" doc:"look-back of used"`
}

// ConfiguredKey is the limits of a key after a change, and its usage.
type ConfiguredKey struct {
	ID                string      `json:"id" format:"uuid"`
	KeyID             string      `json:"key_id" format:"uuid" doc:"the same as id"`
	Name              string      `json:"name"`
	MonthlyRequestCap *plan.Units `json:"monthly_request_cap" nullable:"true" doc:"null for no cap of its own"`
	Note              string      `json:"note"`

	Window   string         `json:"window" doc:"look-back of used"`
	Services []ServiceFence `json:"services"`
}

// ConfigureServicesInput changes limits of the account. Without any field it reads them.
type ConfigureServicesInput struct {
	Enabled *[]string         `json:"enabled,omitempty" maxItems:"8" enum:"rpc,data,gas,tx_status,ens,prices,contracts,utils" doc:"full list of the services that are switched on: rpc, data, gas, tx_status, ens, prices, contracts, utils"`
	Caps    *map[string]int64 `json:"caps,omitempty" maxProperties:"8" doc:"full list of caps by service, in weighted units of a period; an empty one removes all" example:"{\"rpc\":500000,\"data\":20000}"`
	Window  string            `json:"window,omitempty" enum:"1h,6h,12h,24h,3d,7d,30d" default:"30d" doc:"look-back of used"`
}

// ConfiguredServices is the service limits of the account, and the usage of all its keys.
type ConfiguredServices struct {
	Window   string         `json:"window" doc:"look-back of used"`
	KeyID    *string        `json:"key_id" nullable:"true" doc:"always null: these are the account's fences"`
	Services []ServiceFence `json:"services"`
}

// ServiceFence is the switch and the cap of a service.
type ServiceFence struct {
	Service account.Service `json:"service"`
	Enabled bool            `json:"enabled"`
	Cap     *plan.Units     `json:"cap" nullable:"true" doc:"weighted units of a period; null for no cap"`
	Used    plan.Units      `json:"used" doc:"recorded weighted units of the window; some seconds late"`
}

func (h *handlers) configureKey() *operation.Operation[ConfigureKeyInput, ConfiguredKey] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "configure_key", Title: "Read or change the fences of a key", Access: operation.Managers, ReadsToo: true,
		Description: "Reads a key's cap, services and caps, or changes those that are given; a change is in force " +
			"when this answers. A key is never wider than its account. It costs nothing, and a repeat changes " +
			"nothing more.",
		Fails: []fault.Reason{fault.NotYours, fault.NotYetInForce, fault.DurableUnavailable},
	}, h.runConfigureKey)
}

func (h *handlers) runConfigureKey(ctx context.Context, c *operation.Call,
	in ConfigureKeyInput,
) (ConfiguredKey, error) {
	id, refusal := operation.ParseKeyID("id", in.ID)
	if refusal != nil {
		return ConfiguredKey{}, refusal
	}
	k, err := h.Store.LoadKeyOf(ctx, c.Account.ID, id)
	if err != nil {
		return ConfiguredKey{}, operation.ToFault(err, "key")
	}
	note := "Nothing was changed."
	if in.MonthlyRequestCap != nil || in.Enabled != nil || in.Caps != nil {
		if refusal := c.MayChange(); refusal != nil {
			return ConfiguredKey{}, refusal
		}
		if k.Status == account.Revoked {
			return ConfiguredKey{}, fault.New(fault.FieldRefused,
				"The key is revoked, so nothing of it can be changed. Create another one.")
		}
		s := account.Settings{
			MonthlyCap: account.Number(in.MonthlyRequestCap), Enabled: in.Enabled,
			Caps: numbers(in.Caps),
		}
		if k, err = h.Limits.ConfigureKey(ctx, id, s, c.Author("configured")); err != nil {
			return ConfiguredKey{}, operation.ToFault(err, "key")
		}
		note = "The change is in force."
	}
	window, used, err := h.used(ctx, c, id, in.Window)
	if err != nil {
		return ConfiguredKey{}, err
	}
	return ConfiguredKey{
		ID: k.ID.String(), KeyID: k.ID.String(), Name: k.Name, MonthlyRequestCap: operation.NullUnits(k.MonthlyCap),
		Note:   note,
		Window: window, Services: serviceLimits(k.Services, used),
	}, nil
}

func (h *handlers) configureServices() *operation.Operation[ConfigureServicesInput, ConfiguredServices] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "configure_services", Title: "Read or change the services of the account", Access: operation.Managers,
		ReadsToo: true,
		Description: "Reads which services the account's keys may use and their monthly caps, or changes them; a " +
			"change is in force when this answers. For one key use configure_key. It costs nothing, and a repeat " +
			"changes nothing more.",
		Fails: []fault.Reason{fault.NotYetInForce, fault.DurableUnavailable},
	}, h.runConfigureServices)
}

func (h *handlers) runConfigureServices(ctx context.Context, c *operation.Call,
	in ConfigureServicesInput,
) (ConfiguredServices, error) {
	services := c.Account.Services
	if in.Enabled != nil || in.Caps != nil {
		if refusal := c.MayChange(); refusal != nil {
			return ConfiguredServices{}, refusal
		}
		after, err := h.Limits.ConfigureAccount(ctx, c.Account.ID, account.Settings{
			Enabled: in.Enabled, Caps: numbers(in.Caps),
		}, c.Author("configured"))
		if err != nil {
			return ConfiguredServices{}, operation.ToFault(err, "account")
		}
		services = after.Services
	}
	window, used, err := h.used(ctx, c, account.KeyID{}, in.Window)
	if err != nil {
		return ConfiguredServices{}, err
	}
	return ConfiguredServices{Window: window, Services: serviceLimits(services, used)}, nil
}

// windows are the supported look-backs.
var windows = map[string]time.Duration{
	"1h": time.Hour, "6h": 6 * time.Hour, "12h": 12 * time.Hour, "24h": 24 * time.Hour,
	"3d": 3 * 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour,
}

const defaultWindow = "30d"

// used returns the usage of the account, or of one of its keys, by service.
func (h *handlers) used(ctx context.Context, c *operation.Call, key account.KeyID,
	window string,
) (string, map[account.Service]plan.Units, error) {
	if window == "" {
		window = defaultWindow
	}
	used, err := h.Store.SumServices(ctx, c.Account.ID, key, h.Now().Add(-windows[window]))
	if err != nil {
		return window, nil, operation.ToFault(err, "key")
	}
	return window, used, nil
}

func serviceLimits(f account.ServiceLimits, used map[account.Service]plan.Units) []ServiceFence {
	var list []ServiceFence
	for _, s := range account.Services() {
		list = append(list, ServiceFence{
			Service: s, Enabled: !slices.Contains(f.Off, s), Cap: operation.NullUnits(f.Caps[s]), Used: used[s],
		})
	}
	return list
}

// numbers converts caps to the form that settings take. nil stays nil.
func numbers(caps *map[string]int64) *map[string]json.Number {
	if caps == nil {
		return nil
	}
	texts := make(map[string]json.Number, len(*caps))
	for service, n := range *caps {
		texts[service] = json.Number(strconv.FormatInt(n, 10))
	}
	return &texts
}
