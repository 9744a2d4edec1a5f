/** `system.notify`: shows a notification on this machine. Texts are passed as arguments, never inside a script. */
import { findOnPath, type ProgramPlaces, runProgram } from "@svc/kit/exec";
import { NODE_STOPS, type NotifyParams } from "./params.ts";
import { NodeRefusal } from "./refusal.ts";

/** A fixed script; title and body are its arguments. */
const APPLE_SCRIPT = [
  "on run argv",
  "display notification (item 2 of argv) with title (item 1 of argv)",
  "end run",
].flatMap((line) => ["-e", line]);

/** The program that shows notifications on this machine; `undefined`: none. */
export async function findNotifier(places: ProgramPlaces): Promise<Notifier | undefined> {
  const [name, ...before] =
    places.platform === "linux"
      ? ["notify-send", "--app-name=svc"]
      : places.platform === "darwin"
        ? ["osascript", ...APPLE_SCRIPT]
        : [];
  const file = name === undefined ? undefined : await findOnPath(name, places);
  return file === undefined || name === undefined ? undefined : { file, before: [name, ...before, "--"] };
}

export interface Notifier {
  readonly file: string;
  /** Arguments before title and body, including argv[0]. */
  readonly before: readonly string[];
}

/** Choice: maximum UTF-16 units; more does not fit on a screen. */
const MAX_CHARS = { title: 200, body: 2_000 } as const;

/** @throws NodeRefusal `INVALID_REQUEST`: no text; `UNAVAILABLE`: it cannot be shown, with the reason */
export async function notify(
  { title, body }: NotifyParams,
  notifier: Notifier | undefined,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly shown: true }> {
  if (!notifier) {
    throw new NodeRefusal(
      "UNAVAILABLE",
      "this machine has no program for notifications (notify-send on Linux, osascript on macOS)",
    );
  }
  const texts = [plain(title, MAX_CHARS.title), plain(body, MAX_CHARS.body)];
  if (texts.every((text) => text === "")) throw new NodeRefusal("INVALID_REQUEST", "at root: title or body is missing");
  const argv = [...notifier.before, texts[0] || "svc", texts[1] ?? ""];
  const run = { file: notifier.file, argv, cwd: "/", env, timeoutMs: 10_000, signal, stopReason: NODE_STOPS };
  const end = await runProgram(run);
  if (end.exitCode === 0) return { shown: true };
  const why = end.error ?? (end.stderr.trim() || `exit code ${end.exitCode}`);
  throw new NodeRefusal("UNAVAILABLE", `the notification was not shown: ${why.slice(0, 300)}`);
}

/** Control characters except line feeds, and bidirectional control characters. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const STEERING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

function plain(text: string | null | undefined, max: number): string {
  return (text ?? "").replace(STEERING, " ").trim().slice(0, max);
}
