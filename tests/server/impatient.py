"""`ringmt` whose supervisor soon kills a worker that hangs."""

from server.cli.main import main
from server.runtime.processes import supervisor

if __name__ == "__main__":
    supervisor.HUNG_SECONDS = 4.0
    raise SystemExit(main())
