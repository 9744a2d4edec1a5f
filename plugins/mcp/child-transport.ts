/**
 * Transport to a server that the gateway starts as a program: in its own process group, with a minimal environment, over
 * standard input and output. Stopping the program also ends the children of the program.
 */
import { type Clock, messageOf, pause } from "@svc/sdk";
import type { ReadBuffer, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** The complete environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** The parts of the library that split and serialize messages. */
export interface Framing {
  readonly buffer: ReadBuffer;
  readonly serialize: typeof serializeMessage;
}

export interface ChildTransport extends Transport {
  /** How the program ended, with the last characters of its standard error; `undefined` while it runs. */
  end(): string | undefined;
}

/** Milliseconds from closing the program's input to SIGTERM, to SIGKILL, and until the transport stops waiting. */
export const STOP_STEPS_MS = [500, 1_500, 1_000] as const;
/** Characters of standard error to keep. */
const MAX_TAIL = 500;

const PASSED = ["PATH", "HOME", "LANG", "TZ"];
/** Programs on Windows do not start without these. */
const PASSED_ON_WINDOWS = ["SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA"];

/** @param own environment of this process; it holds secrets of the gateway, so only the variables every program needs are passed */
export function childEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  added: Readonly<Record<string, string>>,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const names = platform === "win32" ? [...PASSED, ...PASSED_ON_WINDOWS] : PASSED;
  const passed = names.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]));
  return { ...Object.fromEntries(passed), ...added };
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export function createChildTransport(
  program: Program,
  { buffer, serialize }: Framing,
  clock: Pick<Clock, "setTimeout">,
): ChildTransport {
  const gone = new AbortController();
  let child: Child | undefined;
  let end: string | undefined;
  let hasEnded = false; // the program exited, by itself or by a signal
  let tail = "";
  let closing: Promise<void> | undefined;

  const killAll = () => child && signalGroup(child, "SIGKILL");

  function start(): Promise<void> {
    return new Promise((resolve, reject) => {
      child = launch(program);
      process.once("exit", killAll);
      child.once("spawn", resolve);
      child.once("error", (error) => {
        end ??= `the program could not be started: ${messageOf(error)}`;
        over();
        reject(error);
      });
      child.once("exit", (code, signal) => {
        hasEnded = end === undefined;
        end ??= `the program ${signal === null ? `exited with code ${code}` : `was ended by ${signal}`}`;
        killAll(); // children still running
      });
      child.once("close", over);
      child.stdin.on("error", () => undefined); // reported by the callback of `write`
      child.stdout.on("data", receive);
      child.stderr.on("data", (chunk: Buffer) => (tail = (tail + chunk.toString("utf8")).slice(-MAX_TAIL)));
    });
  }

  function over(): void {
    if (gone.signal.aborted) return;
    gone.abort();
    process.removeListener("exit", killAll);
    transport.onclose?.();
  }

  function receive(chunk: Buffer): void {
    try {
      buffer.append(chunk);
    } catch (error) {
      end ??= messageOf(error); // the message exceeds the limit
      void close();
    }
    for (;;) {
      try {
        const message = buffer.readMessage();
        if (message === null) return;
        transport.onmessage?.(message);
      } catch {
        // Lines that are not messages are skipped: programs print other text, too.
      }
    }
  }

  function send(message: Parameters<Transport["send"]>[0]): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!child || gone.signal.aborted) return reject(new Error("the program is not running"));
      child.stdin.write(serialize(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  function close(): Promise<void> {
    return (closing ??= stop());
  }

  async function stop(): Promise<void> {
    if (!child || gone.signal.aborted) return;
    const [toTerm, toKill, toEnd] = STOP_STEPS_MS;
    child.stdin.end();
    await pause(toTerm, clock, gone.signal);
    if (!gone.signal.aborted) signalGroup(child, "SIGTERM");
    await pause(toKill, clock, gone.signal);
    if (!gone.signal.aborted) signalGroup(child, "SIGKILL");
    await pause(toEnd, clock, gone.signal);
    over();
  }

  /** Evaluated on demand, since the last output may arrive after the exit. */
  const endWithWords = () => (hasEnded && tail.trim() !== "" ? `${end}; stderr: ${tail.trim()}` : end);

  const transport: ChildTransport = { start, send, close, end: endWithWords };
  return transport;
}

function launch({ command, args, env, cwd }: Program): Child {
  return spawn(command, [...args], {
    cwd,
    env: { ...env },
    detached: process.platform !== "win32", // its own process group, so that its children can be ended too
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
  });
}

function signalGroup(child: Child, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // the whole group has exited
  }
}
