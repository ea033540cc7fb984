package access

// SetFixed puts other keys of the configuration in place of those before.
// The sites that they belong to are not all known when the first request may
// look for a key: those that a directive defines come one by one.
func (ks *Keys) SetFixed(fixed []*Key) {
	ks.reload.Lock()
	defer ks.reload.Unlock()
	ks.fixed = fixed
	ks.publish(ks.set.Load().made())
}
