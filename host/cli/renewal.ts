/**
 * A restart that needs a new process, because other code lies on disk now.
 *
 * Whoever supervises this process (`SVC_SUPERVISOR` is set) starts it again after exit code 75. Where nobody does, this process
 * stays as what the terminal and others know, and does nothing but run the new one in its place.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { EXIT, type Output } from "./output.ts";

/** Who starts this process again after any end: `systemd`, `launchd`, `svc` (this file), or any other word. */
const SUPERVISOR = "SVC_SUPERVISOR";
/** What the process before this one hands over. */
const RENEWAL = "SVC_RENEWAL";
/** The supervisor of this file. */
const OWN = "svc";

/** Milliseconds between two attempts to start again. Choice: as for restarts within the process. */
const RETRY = 5_000;

/** What the new process goes on with. */
export interface HandedOver {
  readonly reason: string;
  /** epoch ms of the restart; the cooldown counts from it. */
  readonly at: number;
  /** Port that was listened on, for whoever asked for a free one. */
  readonly port: number;
}

/** Takes it out of the environment, so that nothing that is started from here has it. What is no such thing counts as nothing. */
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

/** Resolves when the process that runs this one says so, or is gone. Never, where nobody of this file does. */
export function toldToStop(own: NodeJS.Process): Promise<undefined> {
  if (own.env[SUPERVISOR] !== OWN || !own.channel) return new Promise(() => undefined);
  const told = new Promise<undefined>((resolve) => {
    own.on("message", (message) => message === "stop" && resolve(undefined));
    own.once("disconnect", () => resolve(undefined));
  });
  own.channel.unref(); // it holds no process that is done
  return told;
}

/** Tells it that the gateway is up. */
export function tellUp(own: NodeJS.Process): void {
  if (own.env[SUPERVISOR] === OWN) own.send?.("up");
}

/** @returns the exit code, at once where somebody supervises this process, else that of the last new one */
export async function keepRenewing(handed: HandedOver, output: Output): Promise<number> {
  if (process.env[SUPERVISOR]) return EXIT.renew;
  let { reason, at } = handed;
  for (;;) {
    const end = await runOnce({ ...handed, reason, at });
    if (end.isStopped) return end.code;
    if (end.code !== EXIT.renew) {
      if (end.wasUp) return end.code;
      output.note(`the gateway does not start again; it is tried every ${RETRY / 1_000} s`);
      if (await stoppedWithin(RETRY)) return EXIT.ok;
      continue;
    }
    [reason, at] = ["renewed", Date.now()];
  }
}

interface End {
  readonly code: number;
  /** It was told to. */
  readonly isStopped: boolean;
  readonly wasUp: boolean;
}

/** This very command line in a new process, until that ends. Signals go on to it; a second one does not wait. */
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

/** Choice: a message and not the signal: a terminal sends Ctrl-C to both, and a second signal would not wait. */
function passedOn(child: ChildProcess) {
  let isSent = false;
  const end = () => {
    if (isSent) return void child.kill(); // a second one does not wait
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
