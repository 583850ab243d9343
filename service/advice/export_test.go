package advice

// Occupy takes every slot for reading texts until free is called.
func (o *Operations) Occupy() (free func()) {
	for range cap(o.handlers.readers) {
		o.handlers.readers <- struct{}{}
	}
	return func() {
		for range cap(o.handlers.readers) {
			<-o.handlers.readers
		}
	}
}
