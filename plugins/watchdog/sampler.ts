/**
 * Inspects a blocked main thread: its call stack, and the plugin whose code is running.
 *
 * It uses the runtime's debugger from the watchdog's thread. The debugger pauses the main thread for some 25 ms between two
 * statements, even in a busy loop, and resumes it. No port is opened. A thread that waits in a system call pauses when the call
 * returns, still in the code that made it.
 */
import { Session } from "node:inspector";

export interface Sight {
  /** Mark of the plugin whose code runs, by its async context; 0: none. */
  readonly mark: number;
  /** Call stack, innermost call first. */
  readonly stack: readonly string[];
}

/** Global key of a function in the main thread that returns the mark of its async context. */
export const CONTEXT_MARK = Symbol.for("svc.watchdog.context-mark");
const ASK = `globalThis[Symbol.for(${JSON.stringify(CONTEXT_MARK.description)})]?.() ?? 0`;

/** Maximum number of reported calls. */
const MOST_CALLS = 8;

interface Paused {
  readonly callFrames: readonly {
    readonly callFrameId: string;
    readonly functionName: string;
    readonly location: {
      readonly scriptId: string;
      readonly lineNumber: number;
      readonly columnNumber?: number | undefined;
    };
  }[];
}

/** The part of a debugger result that is used. */
interface Answer {
  readonly result?: { readonly value?: unknown };
}

/** An inspection in progress; it ends when the main thread pauses. */
export interface PendingSight {
  /** Never rejects; `undefined`: the inspection failed or was cancelled. */
  readonly seen: Promise<Sight | undefined>;
  /** Cancels the inspection. Safe to call twice, and after its end. */
  stop(): void;
}

/** @param lasts whether the block still lasts: code that runs after it is not responsible */
export function lookAtMainThread(lasts: () => boolean): PendingSight {
  const session = new Session();
  let giveUp = () => {};
  const gaveUp = new Promise<undefined>((resolve) => (giveUp = () => resolve(undefined)));
  return { seen: look(session, gaveUp, lasts).catch(() => undefined), stop: giveUp }; // the runtime may have no debugger
}

async function look(session: Session, gaveUp: Promise<undefined>, lasts: () => boolean): Promise<Sight | undefined> {
  try {
    session.connectToMainThread();
    const scripts = new Map<string, string>();
    session.on("Debugger.scriptParsed", ({ params }) => void scripts.set(params.scriptId, params.url));
    const paused = new Promise<Paused>((resolve) => {
      session.on("Debugger.paused", ({ params }) => resolve(params));
    });
    session.post("Debugger.enable");
    session.post("Debugger.pause");
    const stopped = await Promise.race([paused, gaveUp]);
    if (!stopped || !lasts()) return undefined;
    return { mark: await markAt(session, stopped), stack: stackOf(stopped, scripts) };
  } finally {
    session.disconnect(); // resumes the main thread
  }
}

function markAt(session: Session, { callFrames: [innermost] }: Paused): Promise<number> {
  return new Promise((resolve) => {
    if (!innermost) return resolve(0);
    const { callFrameId } = innermost;
    const question = { callFrameId, expression: ASK, returnByValue: true, silent: true };
    session.post("Debugger.evaluateOnCallFrame", question, (error, answer?: Answer) => {
      const mark = error ? undefined : answer?.result?.value;
      resolve(typeof mark === "number" ? mark : 0);
    });
  });
}

function stackOf({ callFrames }: Paused, scripts: ReadonlyMap<string, string>): string[] {
  return callFrames.slice(0, MOST_CALLS).map(({ functionName, location }) => {
    const { scriptId, lineNumber, columnNumber = 0 } = location; // counted from 0
    const script = scripts.get(scriptId) || "unknown";
    return `${functionName || "(anonymous)"} (${script}:${lineNumber + 1}:${columnNumber + 1})`;
  });
}
