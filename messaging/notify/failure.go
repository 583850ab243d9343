package notify

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/textproto"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// SMTP replies that require or reject authentication (RFC 4954, section 6).
var authReplies = map[int]bool{530: true, 534: true, 535: true, 538: true}

const (
	permanentReply = 500
	closingReply   = 421 // the server closes the connection (RFC 5321, section 3.8)
)

// deliveryError classifies an error of the mail library. Replies of the server may quote addresses,
// so their texts are dropped.
func deliveryError(err error) *DeliveryError {
	var f DeliveryError
	send, sent := errors.AsType[*gomail.SendError](err)
	if sent {
		f.Code = send.ErrorCode()
	} else if reply, ok := errors.AsType[*textproto.Error](err); ok {
		f.Code = reply.Code
	}
	switch {
	case authReplies[f.Code]:
		f.Class, f.Whole = ServerAuth, true
	case !sent:
		f.Class, f.Whole = connecting(err), true
		if f.Code == 0 {
			f.cause = err
		}
	case f.Code == 0: // the connection broke; if the server is down, the next mail shows it
		f.Class = ServerUnreachable
	case f.Code == closingReply:
		f.Class, f.Whole = ServerUnreachable, true
	case send.Reason == gomail.ErrSMTPMailFrom:
		// The sender is the operator's setting, so no mail may be lost for it.
		f.Class, f.Whole = SenderRefused, f.Code >= permanentReply
	case send.Reason == gomail.ErrSMTPRcptTo:
		f.Class, f.Permanent = RecipientRefused, f.Code >= permanentReply
	default:
		f.Class, f.Permanent = ContentRefused, f.Code >= permanentReply
	}
	return &f
}

// connecting returns the class of a failure before a mail was begun.
func connecting(err error) Class {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	switch text := err.Error(); {
	case certificate || record || alert || authority || strings.Contains(text, "STARTTLS"):
		return ServerTLS
	case strings.Contains(text, "AUTH"):
		return ServerAuth
	}
	return ServerUnreachable
}
