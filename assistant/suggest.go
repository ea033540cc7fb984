package assistant

func (r *run) suggest() {}
