package admission

import (
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/meter"
)

func TestAdmit_OnlyRefusalsOfDoorKeysNameTheNextDoor(t *testing.T) {
	t.Parallel()
	for _, door := range []account.Door{account.DoorPublic, account.DoorWallet} {
		c := &Call{Subject: &meter.Subject{Identity: account.Identity{Door: door}}}
		if f := WithNextDoor(c, nil); f != nil {
			t.Errorf("a call of a %s key that was admitted is refused: %v", door, f)
		}
		if f := WithNextDoor(c, fault.New(fault.RateWindow, "wait")); f.Data["next_door"] == nil {
			t.Errorf("a refusal of a %s key names no door: %v", door, f.Data)
		}
		if f := WithNextDoor(c, fault.New(fault.InternalFault, "")); f.Data["next_door"] != nil {
			t.Errorf("a failure of ours names a door: %v", f.Data)
		}
	}
	if f := WithNextDoor(&Call{}, fault.New(fault.RateWindow, "wait")); f.Data["next_door"] != nil {
		t.Error("a refusal of nobody's key names a door")
	}
}
