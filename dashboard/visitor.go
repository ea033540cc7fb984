package dashboard

// Role is what a visitor may do in an organization. Each includes the one
// before it.
type Role int

// The roles.
const (
	// Nobody sees nothing: the organization does not exist for them.
	Nobody Role = iota
	// Viewer reads everything and changes nothing.
	Viewer
	// Member makes and revokes keys, works on what readers left, and erases.
	Member
	// Admin is a member of every organization, and sees the server.
	Admin
)

func (r Role) String() string {
	return [...]string{"nobody", "viewer", "member", "admin"}[r]
}

// Visitor is who asks for a page.
type Visitor struct {
	// Name is shown, and written into the audit trail.
	Name string
	// Admin makes an administrator of all organizations.
	Admin bool
	// Roles are those of single organizations.
	Roles map[string]Role

	session string // its ID, "" for a login of others
}

// Session reports whether the dashboard itself signed the visitor in.
func (v *Visitor) Session() bool { return v.session != "" }

// Known reports whether the visitor has any role.
func (v *Visitor) Known() bool {
	for _, r := range v.Roles {
		if r > Nobody {
			return true
		}
	}
	return v.Admin
}

// In returns the visitor's role in an organization.
func (v *Visitor) In(organization string) Role {
	if v.Admin {
		return Admin
	}
	return v.Roles[organization]
}
