/** `sessions.preview`: the last messages of several sessions, short. Spec: protocol/methods-sessions.md §3. */
import type { ParamsOf, ResultOf } from "@svc/sdk";
import type { sessions } from "@svc/sdk/sessions";
import { cut } from "./text.ts";
import type { Excerpt, Transcripts } from "./transcripts.ts";

type PreviewResult = ResultOf<typeof sessions.preview>;
type Preview = PreviewResult["previews"][number];

const MAX_KEYS = 64;
const DEFAULT_MESSAGES = 12;
const MAX_MESSAGES = 50;
const DEFAULT_CHARS = 240;
const MAX_CHARS = 2000;
/** Tool names shown of a message that only calls tools. */
const SHOWN_TOOLS = 2;

const ROLES: Readonly<Record<string, string>> = {
  user: "user",
  assistant: "assistant",
  toolResult: "tool",
  tool: "tool",
  system: "system",
};

/**
 * One preview for each key, in order; blank keys are dropped and the first 64 used. Never rejects: a key that
 * is unknown or malformed is `missing`, a session that cannot be read is `error`. Messages that cannot be read are
 * left out and counted in `damaged` (choice); the session stays `ok`.
 */
export async function previewSessions(
  transcripts: Transcripts,
  params: ParamsOf<typeof sessions.preview>,
  { now, canonicalKey }: { readonly now: number; readonly canonicalKey: (key: string) => string },
): Promise<PreviewResult> {
  const limit = Math.min(params.limit ?? DEFAULT_MESSAGES, MAX_MESSAGES);
  const maxChars = Math.min(params.maxChars ?? DEFAULT_CHARS, MAX_CHARS);
  const keys = params.keys.filter((key) => key.trim() !== "").slice(0, MAX_KEYS);

  async function preview(key: string): Promise<Preview> {
    const canonical = attempt(() => canonicalKey(key));
    if (canonical === undefined) return { key, status: "missing", items: [] };
    try {
      // One character more than is shown tells whether there is more.
      const found = await transcripts.excerpts(canonical, limit, maxChars + 1);
      if (!found) return { key, status: "missing", items: [] };
      const { excerpts, damaged } = found;
      const items = excerpts.flatMap((excerpt) => previewItem(excerpt, maxChars) ?? []);
      if (damaged > 0) return { key, status: "ok", items, damaged };
      return { key, status: items.length > 0 ? "ok" : "empty", items };
    } catch {
      return { key, status: "error", items: [] };
    }
  }

  return { ts: now, previews: await Promise.all(keys.map(preview)) };
}

/** A message as a preview shows it; `undefined` when there is nothing to show, e.g. only thoughts. */
export function previewItem(excerpt: Excerpt, maxChars: number): Preview["items"][number] | undefined {
  const text = excerptText(excerpt);
  return text === undefined ? undefined : { role: ROLES[excerpt.role] ?? "other", text: cut(text, maxChars) };
}

/** What was said. Choice: without text the called tools are named (`call read, write +1`), else images are counted. */
export function excerptText({ content }: Excerpt): string | undefined {
  const said = content
    .map(({ type, text }) => (type === "text" && text !== null ? text : ""))
    .join("")
    .trim();
  return said === "" ? (toolCalls(content) ?? images(content)) : said;
}

function toolCalls(content: Excerpt["content"]): string | undefined {
  const names = content.flatMap(({ type, name }) => (type === "toolCall" && name !== null ? [name] : []));
  if (names.length === 0) return undefined;
  const more = names.length > SHOWN_TOOLS ? ` +${names.length - SHOWN_TOOLS}` : "";
  return `call ${names.slice(0, SHOWN_TOOLS).join(", ")}${more}`;
}

function images(content: Excerpt["content"]): string | undefined {
  const count = content.filter(({ type }) => type === "image").length;
  if (count === 0) return undefined;
  return count === 1 ? "[image]" : `[${count} images]`;
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
