/** Turns an arbitrary payload into readable text. Pure. */
import type { AgentOverride, Transform } from "@svc/sdk/transform";

const TITLES = ["title", "subject", "summary"];
const TEXTS = ["message", "text", "body", "content", "description"];
const LINKS = ["url", "link", "html_url"];

/** Title, text and link from their usual fields, everything else as JSON. `undefined` for an empty payload. */
export const describe: Transform<unknown, AgentOverride> = ({ payload }) => {
  if (!isObject(payload)) return isEmpty(payload) ? undefined : { kind: "agent", message: json(payload) };
  const name = nameOf(payload);
  const [title, text, link] = [TITLES, TEXTS, LINKS].map((names) => firstText(payload, names));
  const used = new Set([title?.key, text?.key, link?.key, name && "source"]);
  const rest = Object.entries(payload).filter(([key, value]) => !isEmpty(value) && !used.has(key));
  const known = [lines([title?.text, link?.text], "\n"), text?.text];
  const intro = lines(known, "") === "" ? "" : "Also sent:\n";
  const message = lines([...known, rest.length === 0 ? "" : `${intro}${json(Object.fromEntries(rest))}`], "\n\n");
  if (message === "") return undefined;
  return { kind: "agent", message, ...(name === undefined ? {} : { name }) };
};

function lines(parts: readonly (string | undefined)[], between: string): string {
  return parts.filter((part) => part !== undefined && part !== "").join(between);
}

/** First of these fields that contains a text. */
function firstText(payload: Fields, keys: readonly string[]): { key: string; text: string } | undefined {
  for (const key of keys) {
    const value = Object.hasOwn(payload, key) ? payload[key] : undefined;
    if (typeof value === "string" && value.trim() !== "") return { key, text: value.trim() };
  }
  return undefined;
}

/** Choice: the name is not inside the markers of external content, so only one word is accepted. */
function nameOf(payload: Fields): string | undefined {
  const source = Object.hasOwn(payload, "source") ? payload["source"] : undefined;
  return typeof source === "string" && /^[\w.:@/-]{1,64}$/.test(source) ? source : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === "";
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
