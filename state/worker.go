package state

import "context"

// worker does what need not be done at once: it writes large tails to files, and deletes files that nobody needs any more. It sleeps until
// it is called.
type worker struct {
	store *Store
	calls chan struct{}
	end   context.CancelFunc
	ended chan struct{}
}

func (w *worker) start(s *Store) {
	ctx, cancel := context.WithCancel(context.Background())
	w.store, w.end = s, cancel
	w.calls, w.ended = make(chan struct{}, 1), make(chan struct{})
	go w.run(ctx)
}

// call says that there may be something to do.
func (w *worker) call() {
	if w.calls != nil {
		signal(w.calls)
	}
}

// stop ends the work at hand, which another opening takes up.
func (w *worker) stop() {
	w.end()
	<-w.ended
}

func (w *worker) run(ctx context.Context) {
	defer close(w.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.calls:
			w.store.sealDue(ctx)
			w.store.files.clean(ctx)
		}
	}
}
