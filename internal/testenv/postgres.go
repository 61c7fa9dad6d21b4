package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

var (
	server    string // connection string of the shared server, "" before the first use
	databases atomic.Int64
)

// Postgres returns the connection string of an empty database of its own, on a real server that the tests of a package
// share.
func Postgres(t testing.TB) string {
	t.Helper()
	shared.Lock()
	if server == "" {
		dsn, stop := startPostgres(t)
		atEnd(t, stop)
		server = dsn
	}
	dsn := server
	shared.Unlock()
	name := fmt.Sprintf("test%d", databases.Add(1))
	ctx := context.Background()
	c, err := pgx.Connect(ctx, dsn+"postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return dsn + name
}

// startPostgres returns a connection string that lacks the database's name.
func startPostgres(t testing.TB) (dsn string, stop func()) {
	t.Helper()
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(bins) == 0 {
		if path, err := exec.LookPath("postgres"); err == nil {
			bins = []string{path}
		}
	}
	if len(bins) == 0 {
		return postgresContainer(t)
	}
	return postgresProcess(t, filepath.Dir(bins[len(bins)-1]))
}

// postgresProcess starts a server as a child. It refuses to run as root, so root drops to the user postgres.
func postgresProcess(t testing.TB, bin string) (string, func()) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pg") // short: the path of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		attr.Credential = credential(t, "postgres")
		if err := os.Chown(dir, int(attr.Credential.Uid), int(attr.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(bin, name), args...)
		c.Dir, c.SysProcAttr = dir, attr
		return c
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-N", "-U", "sluice", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-D", data).CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	port := FreePort(t)
	cmd := command("postgres", "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories="+dir, "-c", "fsync=off", "-c", "log_min_messages=warning")
	kill := startLocked(t, cmd)
	stop := func() {
		kill()
		_ = os.RemoveAll(dir)
	}
	dsn := fmt.Sprintf("postgres://sluice@127.0.0.1:%d/", port)
	waitForPostgres(t, dsn, stop)
	return dsn, stop
}

// startLocked starts a child whose death signal is bound to a thread that lives until it is killed: Linux sends the
// signal when the thread that started the child ends, not the process.
func startLocked(t testing.TB, cmd *exec.Cmd) (kill func()) {
	t.Helper()
	started, end, done := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		<-end
		_ = cmd.Process.Signal(syscall.SIGQUIT) // immediate shutdown: the data is thrown away
		_ = cmd.Wait()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return func() { close(end); <-done }
}

func credential(t testing.TB, name string) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func waitForPostgres(t testing.TB, dsn string, stop func()) {
	t.Helper()
	ctx := context.Background()
	for i := 0; ; i++ {
		c, err := pgx.Connect(ctx, dsn+"postgres")
		if err == nil {
			_ = c.Close(ctx)
			return
		}
		if i > 600 {
			stop()
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// postgresContainer starts the image SLUICE_POSTGRES_IMAGE, else postgres:16-alpine.
func postgresContainer(t testing.TB) (string, func()) {
	t.Helper()
	needDocker(t)
	image := os.Getenv("SLUICE_POSTGRES_IMAGE")
	if image == "" {
		image = "postgres:16-alpine"
	}
	ctx := context.Background()
	c, err := testcontainers.Run(ctx, image,
		testcontainers.WithEnv(map[string]string{"POSTGRES_USER": "sluice", "POSTGRES_PASSWORD": "sluice"}),
		testcontainers.WithExposedPorts("5432/tcp"),
		testcontainers.WithWaitStrategy(wait.ForListeningPort("5432/tcp")))
	stop := func() { _ = testcontainers.TerminateContainer(c, testcontainers.StopTimeout(0)) }
	if err != nil {
		stop()
		leaveOut(t, "PostgreSQL's binaries or the image "+image, err)
	}
	endpoint, err := c.PortEndpoint(ctx, "5432/tcp", "")
	if err != nil {
		stop()
		t.Fatal(err)
	}
	dsn := "postgres://sluice:sluice@" + endpoint + "/"
	waitForPostgres(t, dsn, stop)
	return dsn, stop
}
