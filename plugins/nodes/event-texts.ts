/** Texts that a session gets about events of a node. Pure. Spec: protocol/methods-node.md §3. */
import { externalLine, neutralizeMarkers, wrapExternalContent } from "@svc/sdk/external-content";
import { fieldsOf, textField } from "./values.ts";

/** Maximum characters of a message of a node, of a notification's texts, and of a command's output. */
export const MAX_MESSAGE_CHARS = 20_000;
const MAX_NOTIFICATION_CHARS = 120;
const MAX_OUTPUT_CHARS = 180;
const MAX_ID_CHARS = 200;

type Fields = Readonly<Record<string, unknown>>;

/** `undefined`: the payload is unusable. */
export function notificationText(nodeId: string, payload: unknown): string | undefined {
  const fields = fieldsOf(payload);
  const change = textField(fields, "change");
  const key = line(fields, "key", MAX_ID_CHARS);
  if ((change !== "posted" && change !== "removed") || key === undefined) return undefined;
  const app = line(fields, "packageName", MAX_ID_CHARS);
  const about = [`node=${nodeId}`, `key=${key}`, ...(app === undefined ? [] : [`package=${app}`])].join(" ");
  const words = [line(fields, "title", MAX_NOTIFICATION_CHARS), line(fields, "text", MAX_NOTIFICATION_CHARS)];
  const said = words.filter((word) => word !== undefined).join(" - ");
  return `Notification ${change} (${about})${said === "" ? "" : `: ${said}`}`;
}

/** A command ended, started or was denied on the node. `undefined`: nothing to report. */
export function execText(nodeId: string, event: string, payload: unknown): string | undefined {
  const fields = fieldsOf(payload);
  const runId = line(fields, "runId", MAX_ID_CHARS);
  const command = line(fields, "command", MAX_OUTPUT_CHARS);
  const who = `node=${nodeId}${runId === undefined ? "" : ` id=${runId}`}`;
  const what = command === undefined ? "" : `: ${command}`;
  if (event === "exec.started") return `Exec started (${who})${what}`;
  if (event === "exec.denied") {
    const reason = line(fields, "reason", MAX_OUTPUT_CHARS);
    return `Exec denied (${who}${reason === undefined ? "" : `, ${reason}`})${what}`;
  }
  const output = line(fields, "output", MAX_OUTPUT_CHARS);
  const exitCode = Number.isInteger(fields["exitCode"]) ? Number(fields["exitCode"]) : undefined;
  const timedOut = fields["timedOut"] === true;
  if (exitCode === 0 && !timedOut && output === undefined) return undefined;
  const end = timedOut ? "timed out" : `code ${exitCode ?? "?"}`;
  return `Exec finished (${who}, ${end})${output === undefined ? what : `: ${output}`}`;
}

/**
 * The message of `agent.request` for the agent. Choice: wrapped as external content, since a node forwards content of other
 * apps and pages.
 */
export function requestMessage(from: string, message: string): string {
  return wrapExternalContent(message, { source: "external", from: `node ${from}` });
}

/**
 * The message of spoken text. Choice: not wrapped, since otherwise no spoken request could be carried out. Anything that looks
 * like a marker is neutralized, and the run may only read and write.
 */
export function spokenMessage(text: string): string {
  return neutralizeMarkers(text);
}

/** A field as one truncated line; `undefined` if it is empty. */
function line(fields: Fields, key: string, maxChars: number): string | undefined {
  const text = textField(fields, key);
  const shown = text === undefined ? "" : externalLine(text.slice(0, maxChars * 4), maxChars);
  return shown === "" ? undefined : shown;
}
