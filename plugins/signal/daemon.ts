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

type Program = Pick<Settings, "url" | "command" | "dataDir">;

interface Running {
  /** Address; settles when the program answers, or cannot be started. */
  ready: Promise<string>;
  url?: string;
  /** Ends the program, or its start. */
  readonly over: AbortController;
  ended: Promise<unknown>;
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
    const next = "install signal-cli (github.com/AsamK/signal-cli), or set channels.signal.url";
    if (file === undefined)
      throw new GatewayError("NOT_LINKED", `there is no program "${command}" on PATH; next: ${next}`);
    // Without the gateway's own variables, which contain secrets.
    const env = { PATH: places.path, HOME: homedir(), TMPDIR: tmpdir(), LANG: "C.UTF-8" };
    const argv = [file, ...(dataDir === undefined ? [] : ["--config", resolve(stateDir(), dataDir)])];
    return { file, argv, cwd: stateDir(), env };
  }

  async function start(program: Program, own: Running): Promise<string> {
    const { signal } = own.over;
    const { startProgram } = await exec();
    const run = await invocation(program);
    const address = `127.0.0.1:${await freePort()}`;
    const argv = [...run.argv, "daemon", "--http", address, "--receive-mode=on-connection", "--no-receive-stdout"];
    const watched = { file: "/bin/sh", argv: ["sh", "-c", WATCHED, "signal-cli", ...argv] };
    const shell = process.platform === "win32" ? { argv } : watched; // Windows has no such shell
    let last = "";
    const onOutput = (chunk: Buffer) => {
      for (const line of redacted(chunk.toString("utf8")).split("\n")) {
        last = line.slice(0, MAX_LINE_CHARS) || last;
        log.debug({ note: line.slice(0, MAX_LINE_CHARS) }, "output of signal-cli");
      }
    };
    const options = { stdin: "pipe", endsWhole: true, signal, stopReason: "nobody uses it", onOutput } as const;
    own.ended = startProgram({ ...run, ...shell, ...options }).ended.then(({ exitCode, endedFor, error }) => {
      const why = `${endedFor ?? error ?? `exit code ${exitCode}`}${last === "" ? "" : `; it said: ${last}`}`;
      log.info({ reason: why }, "signal-cli has ended");
      own.over.abort(new GatewayError("UNAVAILABLE", `signal-cli has ended: ${why}`));
    });
    const url = `http://${address}`;
    for (const deadline = clock.now() + START_MS; ; await pause(ASK_EVERY_MS, clock, signal)) {
      const outcome = await check({ url, clock, signal }).catch(() => "does not answer");
      signal.throwIfAborted();
      if (outcome === undefined) return (own.url = url);
      if (clock.now() > deadline) return unavailable("signal-cli was started, but does not answer");
    }
  }

  function running(program: Program): Running {
    const key = keyOf(program);
    const known = programs.get(key);
    if (known) return known;
    const none = Promise.resolve("");
    const own: Running = { over: new AbortController(), ready: none, ended: none, users: 0, cancelEnd: () => {} };
    own.over.signal.addEventListener("abort", () => {
      own.cancelEnd();
      if (programs.get(key) === own) programs.delete(key);
    });
    own.ready = start(program, own);
    own.ready.catch(() => own.over.abort());
    programs.set(key, own);
    return own;
  }

  async function end({ over, ready, ended }: Running): Promise<void> {
    over.abort();
    await ready.catch(() => undefined);
    await ended;
  }

  return {
    /**
     * Calls `work` with the address of the daemon; starts the program unless it runs, or a `url` names a daemon.
     * @throws GatewayError `NOT_LINKED`: the program is not installed; `UNAVAILABLE`: it ended, or is late; errors of `work`
     */
    async use<T>(program: Program, signal: AbortSignal, work: (url: string) => Promise<T>): Promise<T> {
      if (program.url !== undefined) return work(program.url);
      const own = running(program);
      own.cancelEnd();
      own.users += 1;
      try {
        return await work(await untilAborted(own.ready, signal));
      } finally {
        own.users -= 1;
        const isOver = own.users > 0 || own.over.signal.aborted;
        if (!isOver) own.cancelEnd = clock.setTimeout(() => own.over.abort(), LINGER_MS);
      }
    },

    /** @throws GatewayError `UNAVAILABLE`: the program does not run */
    urlOf(program: Program): string {
      const url = program.url ?? programs.get(keyOf(program))?.url;
      return url ?? unavailable("signal-cli does not run; next: see `svc channels status`");
    },

    /** Runs a command of the program, which must not serve the account meanwhile. @throws GatewayError as `use` */
    async command(program: Program, args: readonly string[], signal: AbortSignal): Promise<void> {
      const own = programs.get(keyOf(program));
      if (own?.users === 0) await end(own);
      const { runProgram } = await exec();
      const { argv, ...run } = await invocation(program);
      const outcome = await runProgram({ ...run, argv: [...argv, ...args], timeoutMs: START_MS / 2, signal });
      const why = outcome.error ?? redacted(outcome.stderr).slice(0, MAX_LINE_CHARS);
      if (outcome.exitCode !== 0) unavailable(`signal-cli failed: ${why}`);
    },

    /** Ends all programs. */
    close: () => Promise.all([...programs.values()].map(end)).then(() => undefined),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // that of a TCP server
  await new Promise((closed) => server.close(closed));
  return port;
}
