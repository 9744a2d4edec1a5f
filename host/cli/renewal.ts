/**
 * A restart that needs a new process because the code on disk changed.
 *
 * If a supervisor runs this process (`SVC_SUPERVISOR` is set), the supervisor starts it again after exit code 75. Without a
 * supervisor this process keeps its process id, which the terminal and others know, and runs the new process as its child.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { EXIT, type Output } from "./output.ts";

/** Names the supervisor, which restarts this process whenever it ends: `systemd`, `launchd`, `svc` (this file), or any other name. */
const SUPERVISOR = "SVC_SUPERVISOR";
/** Holds the data that the previous process hands over. */
const RENEWAL = "SVC_RENEWAL";
/** Value of `SVC_SUPERVISOR` for a process run by this file. */
const OWN = "svc";

/** Milliseconds between two restart attempts. Choice: same as for restarts within the process. */
const RETRY = 5_000;

/** State handed over to the new process. */
export interface HandedOver {
  readonly reason: string;
  /** epoch ms of the restart; the cooldown starts there. */
  readonly at: number;
  /** Port the gateway listened on; reused if the operator asked for a free port. */
  readonly port: number;
}

/** Removes the variable from the environment, so that child processes do not inherit it. An invalid value counts as absent. */
export function takeRenewal(env: NodeJS.ProcessEnv): HandedOver | undefined {
  const text = env[RENEWAL];
  delete env[RENEWAL];
  try {
    const { reason, at, port } = Object(JSON.parse(text ?? "null")) as Partial<Record<keyof HandedOver, unknown>>;
    if (typeof reason !== "string" || typeof at !== "number" || typeof port !== "number") return undefined;
    return { reason, at, port };
  } catch {
    return undefined;
  }
}

/** Resolves when the parent process requests a stop or is gone. Never resolves if the parent is not `keepRenewing`. */
export function toldToStop(own: NodeJS.Process): Promise<undefined> {
  if (own.env[SUPERVISOR] !== OWN || !own.channel) return new Promise(() => undefined);
  const told = new Promise<undefined>((resolve) => {
    own.on("message", (message) => message === "stop" && resolve(undefined));
    own.once("disconnect", () => resolve(undefined));
  });
  own.channel.unref(); // the channel must not keep a finished process alive
  return told;
}

/** Reports to the parent process that the gateway is up. */
export function tellUp(own: NodeJS.Process): void {
  if (own.env[SUPERVISOR] === OWN) own.send?.("up");
}

/** @returns the exit code: immediately if a supervisor runs this process, else that of the last child process */
export async function keepRenewing(handed: HandedOver, output: Output): Promise<number> {
  if (process.env[SUPERVISOR]) return EXIT.renew;
  let { reason, at } = handed;
  for (;;) {
    const end = await runOnce({ ...handed, reason, at });
    if (end.isStopped) return end.code;
    if (end.code !== EXIT.renew) {
      if (end.wasUp) return end.code;
      output.note(`restart failed; retrying every ${RETRY / 1_000} s`);
      if (await stoppedWithin(RETRY)) return EXIT.ok;
      continue;
    }
    [reason, at] = ["renewed", Date.now()];
  }
}

interface End {
  readonly code: number;
  /** The process was asked to stop. */
  readonly isStopped: boolean;
  readonly wasUp: boolean;
}

/** Runs the same command line in a new process and waits for its end. Forwards signals; a second signal skips the drain. */
function runOnce(handed: HandedOver): Promise<End> {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, [SUPERVISOR]: OWN, [RENEWAL]: JSON.stringify(handed) },
  });
  const signals = passedOn(child);
  let wasUp = false;
  child.on("message", (message) => {
    if (message === "up") wasUp = true;
  });
  return new Promise((resolve) => {
    const done = (code: number) => {
      signals.stop();
      resolve({ code, wasUp, isStopped: signals.sent() });
    };
    child.once("error", () => child.pid === undefined && done(EXIT.refused));
    child.once("exit", (code) => done(code ?? EXIT.refused));
  });
}

/** Choice: sends a message instead of the signal. A terminal sends Ctrl-C to both processes, and a second signal skips the drain. */
function passedOn(child: ChildProcess) {
  let isSent = false;
  const end = () => {
    if (isSent) return void child.kill(); // a second signal skips the drain
    isSent = true;
    if (child.connected) child.send("stop");
  };
  const restart = () => void child.kill("SIGUSR1");
  const ending = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of ending) process.on(signal, end);
  process.on("SIGUSR1", restart);
  return {
    sent: () => isSent,
    stop() {
      for (const signal of ending) process.off(signal, end);
      process.off("SIGUSR1", restart);
    },
  };
}

async function stoppedWithin(ms: number): Promise<boolean> {
  const stop = new AbortController();
  const end = () => stop.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, end);
  await pause(ms, undefined, { signal: stop.signal }).catch(() => undefined);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, end);
  return stop.signal.aborted;
}
