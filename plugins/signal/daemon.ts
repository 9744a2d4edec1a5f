/** Starts signal-cli for accounts without a `url`: one program for all that share its data, as long as somebody uses it. */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { resolve } from "node:path";
import { type Clock, GatewayError, lazy, type Logger, pause, unavailable, untilAborted } from "@svc/sdk";
import type { Settings } from "./config.ts";
import { redacted } from "./refusals.ts";
import { check } from "./rpc.ts";

/** Milliseconds until the program answers: Java needs some seconds. */
const START_MS = 60_000;
const ASK_EVERY_MS = 100;
/** Choice: milliseconds that an unused program goes on, so that neither a lost stream nor a step of a login restarts it. */
const LINGER_MS = 30_000;
/** Choice: characters of a line of its output. */
const MAX_LINE_CHARS = 300;

/**
 * Runs the program, and ends it at the end of standard input: the gateway holds the other end, so the program does not outlive a
 * gateway that was killed. At SIGTERM the shell waits for the program, which gets the signal too.
 */
const WATCHED = `trap : TERM INT; exec 3<&0
"$@" </dev/null 3<&- & program=$!
{ read -r _ <&3; kill $program; sleep 2; kill -9 $program; } >/dev/null 2>&1 & watcher=$!
exec 3<&-
while kill -0 $program 2>/dev/null; do wait $program; code=$?; done
kill $watcher 2>/dev/null; exit \${code:-0}`;

export type Program = Pick<Settings, "url" | "command" | "dataDir">;

interface Running {
  /** Address; settles when the program answers, or cannot be started. */
  readonly ready: Promise<string>;
  readonly over: AbortController;
  /** Resolves when the program has ended. */
  ended: Promise<unknown>;
  url?: string;
  users: number;
  cancelEnd: () => void;
}

interface DaemonSources {
  readonly clock: Pick<Clock, "setTimeout" | "now">;
  readonly log: Pick<Logger, "debug" | "info">;
  /** Base of a relative `dataDir`. */
  readonly stateDir: () => string;
}

const exec = lazy(() => import("@svc/kit/exec"));

export type Daemons = ReturnType<typeof createDaemons>;

export function createDaemons({ clock, log, stateDir }: DaemonSources) {
  const programs = new Map<string, Running>();
  const keyOf = ({ command, dataDir = "" }: Program) => JSON.stringify([command, dataDir]);

  async function invocation({ command, dataDir }: Program) {
    const { ownPlaces, resolveProgram } = await exec();
    const places = ownPlaces();
    const file = await resolveProgram(command, stateDir(), places);
    if (file === undefined)
      throw new GatewayError(
        "NOT_LINKED",
        `there is no program "${command}" on PATH; next: install signal-cli (github.com/AsamK/signal-cli), or set channels.signal.url`,
      );
    // Without the gateway's own variables, which contain secrets.
    const env = { PATH: places.path, HOME: homedir(), TMPDIR: tmpdir(), LANG: "C.UTF-8" };
    const argv = [file, ...(dataDir === undefined ? [] : ["--config", resolve(stateDir(), dataDir)])];
    return { file, argv, cwd: stateDir(), env };
  }

  async function start(program: Program, own: Pick<Running, "over" | "ended">): Promise<string> {
    const { startProgram } = await exec();
    const run = await invocation(program);
    const address = `127.0.0.1:${await freePort()}`;
    const argv = [...run.argv, "daemon", "--http", address, "--receive-mode=on-connection", "--no-receive-stdout"];
    const watched = { file: "/bin/sh", argv: ["sh", "-c", WATCHED, "signal-cli", ...argv] };
    let last = "";
    const { ended } = startProgram({
      ...run,
      ...(process.platform === "win32" ? { argv } : watched), // Windows has no such shell
      stdin: "pipe",
      endsWhole: true,
      signal: own.over.signal,
      stopReason: "nobody uses it",
      onOutput(chunk) {
        for (const line of redacted(chunk.toString("utf8")).split("\n")) {
          last = line.slice(0, MAX_LINE_CHARS) || last;
          log.debug({ text: line.slice(0, MAX_LINE_CHARS) }, "output of signal-cli");
        }
      },
    });
    own.ended = ended.then(({ exitCode, endedFor, error }) => {
      const why = `${endedFor ?? error ?? `exit code ${exitCode}`}${last === "" ? "" : `; it said: ${last}`}`;
      log.info({ reason: why }, "signal-cli has ended");
      own.over.abort(new GatewayError("UNAVAILABLE", `signal-cli has ended: ${why}`));
    });
    const { signal } = own.over;
    const url = `http://${address}`;
    for (const deadline = clock.now() + START_MS; ; await pause(ASK_EVERY_MS, clock, signal)) {
      const isUp = await check({ url, clock, signal }).then(
        () => true,
        () => false,
      );
      signal.throwIfAborted();
      if (isUp) return url;
      if (clock.now() > deadline) return unavailable("signal-cli was started, but does not answer");
    }
  }

  function started(program: Program): Running {
    const key = keyOf(program);
    const known = programs.get(key);
    if (known) return known;
    const own = { over: new AbortController(), ended: Promise.resolve<unknown>(undefined) };
    const running: Running = Object.assign(own, { ready: start(program, own), users: 0, cancelEnd: () => {} });
    running.ready.then(
      (url) => (running.url = url),
      () => running.over.abort(),
    );
    running.over.signal.addEventListener("abort", () => {
      running.cancelEnd();
      if (programs.get(key) === running) programs.delete(key);
    });
    programs.set(key, running);
    return running;
  }

  async function end(running: Running | undefined): Promise<void> {
    running?.over.abort();
    await running?.ready.catch(() => undefined);
    await running?.ended;
  }

  return {
    /**
     * Calls `work` with the address of the daemon; starts the program unless it runs, or a `url` names a daemon.
     * @throws GatewayError `NOT_LINKED`: the program is not installed; `UNAVAILABLE`: it ended, or is late; errors of `work`
     */
    async use<T>(program: Program, signal: AbortSignal, work: (url: string) => Promise<T>): Promise<T> {
      if (program.url !== undefined) return work(program.url);
      const running = started(program);
      running.cancelEnd();
      running.users += 1;
      try {
        return await work(await untilAborted(running.ready, signal));
      } finally {
        running.users -= 1;
        if (running.users === 0) running.cancelEnd = clock.setTimeout(() => running.over.abort(), LINGER_MS);
      }
    },

    /** @throws GatewayError `UNAVAILABLE`: the program does not run */
    urlOf(program: Program): string {
      const url = program.url ?? programs.get(keyOf(program))?.url;
      return url ?? unavailable("signal-cli does not run; next: see `svc channels status`");
    },

    /** Runs a command of the program, which must not serve an account meanwhile. @throws GatewayError as `use` */
    async command(program: Program, args: readonly string[], signal: AbortSignal): Promise<void> {
      const running = programs.get(keyOf(program));
      if (running?.users === 0) await end(running);
      const { runProgram } = await exec();
      const { argv, ...run } = await invocation(program);
      const outcome = await runProgram({ ...run, argv: [...argv, ...args], timeoutMs: START_MS / 2, signal });
      const why = outcome.error ?? redacted(outcome.stderr).slice(0, MAX_LINE_CHARS);
      if (outcome.exitCode !== 0) unavailable(`signal-cli failed: ${why}`);
    },

    /** Ends all programs. */
    async close(): Promise<void> {
      await Promise.all([...programs.values()].map(end));
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // that of a TCP server
  await new Promise((closed) => server.close(closed));
  return port;
}
