package view

// Roles of users in an account.
const (
	RoleOwner  = "owner"
	RoleMember = "member"
)

// RoleWords describe the roles of users.
var RoleWords = map[string]string{RoleOwner: "an owner", RoleMember: "a member"}
