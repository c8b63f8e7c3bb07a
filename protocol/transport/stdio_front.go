package transport
import ("context";"io";"log/slog";"errors")
func ServeStdio(ctx context.Context, in io.Reader, out io.Writer, front Front, o ServerOptions, log *slog.Logger) error {
	return errors.New("not yet")
}
