/** `sessions.preview`: the last messages of several sessions, short. Spec: protocol/methods-sessions.md §3. */
import type { ParamsOf, ResultOf } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import type { sessions } from "@svc/sdk/sessions";
import { excerptText } from "../transcripts/text.ts";
import type { Excerpt, Transcripts } from "../transcripts/transcripts.ts";

type PreviewResult = ResultOf<typeof sessions.preview>;
type Preview = PreviewResult["previews"][number];

const MAX_KEYS = 64;
const DEFAULT_MESSAGES = 12;
const MAX_MESSAGES = 50;
const DEFAULT_CHARS = 240;
const MAX_CHARS = 2000;

const ROLES: Readonly<Record<string, string>> = {
  user: "user",
  assistant: "assistant",
  toolResult: "tool",
  tool: "tool",
  system: "system",
};

/**
 * One preview per key, in order; blank keys are dropped and the first 64 used. Never rejects: a key that
 * is unknown or malformed is `missing`, a session that cannot be read is `error`. Unreadable messages are
 * skipped and counted in `damaged` (choice); the session stays `ok`.
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
      // One extra character shows whether the text was cut.
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

/** The preview of a message; `undefined` when there is nothing to show, e.g. only thoughts. */
export function previewItem(excerpt: Excerpt, maxChars: number): Preview["items"][number] | undefined {
  const text = excerptText(excerpt);
  return text === undefined ? undefined : { role: ROLES[excerpt.role] ?? "other", text: cut(text, maxChars) };
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
