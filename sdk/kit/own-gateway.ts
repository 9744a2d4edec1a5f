/** A gateway that a verb of `svc` starts for itself and stops again: `@svc/kit/own-gateway`. */
import { type ChildProcess, spawn } from "node:child_process";
import { cut } from "@svc/sdk/cli";

/** Choice: characters kept of what the gateway prints, for the error. */
const MAX_OUTPUT = 4_000;
/** Exit code of a gateway that its supervisor must start again. */
const RENEW = 75;

export interface OwnGateway {
  readonly hasEnded: boolean;
  /** Its last words. */
  readonly output: string;
  /** Resolves when the gateway has ended. */
  readonly ended: Promise<void>;
  /** Stops it and waits for its end. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Runs `svc` with `words`, e.g. `gateway run`, in a process group of its own, so that Ctrl-C ends the caller first. Choice: as supervisor `svc`
 * this process has a channel to the gateway, which stops when the channel closes, even if this process is killed.
 * @param env variables in addition to those of this process; `undefined` removes one
 */
export function startGateway(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): OwnGateway {
  let child: ChildProcess;
  let output = "";
  let isStopping = false;
  let hasEnded = false;
  let resolve = () => {};
  const ended = new Promise<void>((done) => (resolve = done));
  const hear = (chunk: Buffer) => void (output = (output + chunk.toString()).slice(-MAX_OUTPUT));
  const begin = () => {
    child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", ...words], {
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: { ...process.env, ...env, SVC_SUPERVISOR: "svc" },
    });
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    const over = (code: number | null) => {
      if (code === RENEW && !isStopping) return begin();
      hasEnded = true;
      resolve();
    };
    child.once("error", ({ message }) => {
      output += message;
      if (child.pid === undefined) over(null);
    });
    child.once("exit", over);
  };
  begin();
  return {
    get hasEnded() {
      return hasEnded;
    },
    get output() {
      return cut(output, MAX_OUTPUT);
    },
    ended,
    async stop() {
      isStopping = true;
      if (child.connected) child.send("stop");
      else if (!hasEnded) child.kill();
      await ended;
    },
  };
}
