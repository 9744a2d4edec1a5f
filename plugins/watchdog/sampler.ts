/**
 * Looks into a main thread that is busy: where its code stands, and in whose name.
 *
 * By the runtime's own debugger, from the watchdog's thread: it stops the other one for some 25 ms between two
 * statements, spinning or not, and lets it go on. No port is opened. A thread that waits inside a call of the system
 * stops when that returns, still in the code that made the call.
 */
import { Session } from "node:inspector";

export interface Sight {
  /** In whose name the code runs, by its async context; 0: nobody's. */
  readonly mark: number;
  /** Innermost call first. */
  readonly stack: readonly string[];
}

/** Under this key the main thread has a function that tells the mark of its async context. */
export const CONTEXT_MARK = Symbol.for("svc.watchdog.context-mark");
const ASK = `globalThis[Symbol.for(${JSON.stringify(CONTEXT_MARK.description)})]?.() ?? 0`;

/** Calls that are told of. */
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

/** The part of an answer that is looked at. */
interface Answer {
  readonly result?: { readonly value?: unknown };
}

/** A look that may take as long as the other thread does not stop. */
export interface PendingSight {
  /** Never rejects; `undefined`: nothing could be seen. */
  readonly seen: Promise<Sight | undefined>;
  /** Gives up. Safe to call twice, and afterwards. */
  stop(): void;
}

/** @param lasts tells whether the block does: what runs after it is not to blame */
export function lookAtMainThread(lasts: () => boolean): PendingSight {
  const session = new Session();
  let giveUp = () => {};
  const gaveUp = new Promise<undefined>((resolve) => (giveUp = () => resolve(undefined)));
  return { seen: look(session, gaveUp, lasts).catch(() => undefined), stop: giveUp }; // a runtime may have no debugger
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
    session.disconnect(); // the other thread goes on
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
