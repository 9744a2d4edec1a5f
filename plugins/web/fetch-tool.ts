/** The tool `web_fetch`: one page as text, marked as external content. */
import { type Clock, invalidRequest, outsideOrigin, Strict, Type } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import { externalLine, wrapExternalContent } from "@svc/sdk/external-content";
import { defineTool, type Tool, type ToolResult } from "@svc/sdk/tools";
import type { OutboundFetch, OutboundResponse } from "@svc/sdk/web";
import { createCache } from "./cache.ts";
import type { FetchSettings } from "./config.ts";
import type { Extract } from "./extraction.ts";
import type { PageQuestion, PageText } from "./messages.ts";
import { decodeText, kindOf } from "./page-kind.ts";

export interface FetchToolParts {
  readonly settings: FetchSettings;
  readonly outbound: () => OutboundFetch;
  readonly extract: Extract;
  readonly clock: Pick<Clock, "now" | "elapsed">;
}

/** Maximum bytes of a page. */
const MAX_BYTES = 5 * 1024 * 1024;
/** Maximum characters of an error page. */
const MAX_ERROR_CHARS = 4_000;
const ACCEPT = "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.8,*/*;q=0.1";

const Params = Strict({
  url: Type.String({ minLength: 1, maxLength: 4_096, pattern: "\\S", description: "The address, http:// or https://" }),
  extractMode: Type.Optional(Type.Enum(["markdown", "text"], { description: "Format of the text; default markdown" })),
  maxChars: Type.Optional(Type.Integer({ minimum: 100, description: "Maximum number of characters" })),
});

/** A fetched page. */
interface Page extends PageText {
  readonly finalUrl: string;
  readonly status: number;
  readonly contentType: string;
  /** epoch ms */
  readonly fetchedAt: number;
}

export function createFetchTool({ settings, outbound, extract, clock }: FetchToolParts): Tool {
  const cache = createCache<Page>({
    clock,
    ttlMs: settings.cacheTtlMinutes * 60_000,
    maxEntries: 100,
    maxSize: 5_000_000,
    sizeOf: ({ text }) => text.length,
  });

  async function get(url: string, mode: PageQuestion["mode"], signal: AbortSignal): Promise<Page> {
    const { userAgent, maxRedirects, timeoutSeconds, maxCharsCap } = settings;
    const response = await outbound().fetch({
      url,
      headers: { accept: ACCEPT, ...(userAgent ? { "user-agent": userAgent } : {}) },
      maxBytes: MAX_BYTES,
      maxRedirects,
      timeoutMs: timeoutSeconds * 1_000,
      signal,
    });
    const { url: finalUrl, status, contentType } = response;
    const maxChars = isOk(status) ? maxCharsCap : Math.min(maxCharsCap, MAX_ERROR_CHARS);
    const text = await read(response, { mode, maxChars, extract, signal });
    return { ...text, finalUrl, status, contentType, fetchedAt: clock.now() };
  }

  return defineTool({
    label: "Web fetch",
    description:
      "Reads a page of the public web and returns its text. Use it for known URLs; it does not log in and runs no scripts.",
    params: Params,
    scope: "operator.read",
    // A URL that the model composed can carry data out.
    effects: ({ url }, { seen }) => (seen.includes(url) ? ["reads"] : ["reads", "sends-out"]),
    independent: true,
    brings: "web",
    async run({ url, extractMode = "markdown", maxChars = settings.maxChars }, { signal }) {
      const began = clock.elapsed();
      const key = `${extractMode} ${url}`;
      const kept = cache.get(key);
      const page = kept ?? (await get(url, extractMode, signal));
      if (!kept && isOk(page.status)) cache.set(key, page);
      const about = { url, extractMode, cached: kept !== undefined, tookMs: Math.round(clock.elapsed() - began) };
      return resultOf(page, Math.min(maxChars, settings.maxCharsCap), about);
    },
  });
}

function isOk(status: number): boolean {
  return status >= 200 && status < 300;
}

interface ReadOptions extends Pick<PageQuestion, "mode" | "maxChars"> {
  readonly extract: Extract;
  readonly signal: AbortSignal;
}

async function read(response: OutboundResponse, { mode, maxChars, extract, signal }: ReadOptions): Promise<PageText> {
  const { body, charset, contentType, status, url } = response;
  const kind = kindOf(contentType);
  if (kind === undefined && isOk(status))
    invalidRequest(`${externalLine(contentType, 100)} cannot be read as text; web_fetch supports HTML, JSON and text`);
  const text = kind === undefined ? "" : decodeText(body, charset, kind);
  if (kind === "html") return extract({ html: text, url, mode, maxChars }, signal);
  return { text: cut(text, maxChars, ""), extractor: "none", truncated: text.length > maxChars };
}

/** The call, and how it was served. */
interface About {
  readonly url: string;
  readonly extractMode: string;
  readonly cached: boolean;
  readonly tookMs: number;
}

function resultOf(page: Page, maxChars: number, about: About): ToolResult {
  const { finalUrl, status, contentType, extractor } = page;
  const text = cut(page.text, maxChars, "");
  const truncated = page.truncated || text.length < page.text.length;
  const title = page.title === undefined ? undefined : externalLine(page.title, 200);
  const subject = title ? { subject: title } : {};
  const lines = [
    ...(isOk(status) ? [] : [`The server returned status ${status}.`]),
    text.trim() === ""
      ? "This page has no text."
      : wrapExternalContent(text, { source: "web fetch", from: finalUrl, ...subject }),
    ...(truncated ? [`The text was cut after ${text.length} characters.`] : []),
  ];
  const fetchedAt = new Date(page.fetchedAt).toISOString();
  return {
    content: [{ type: "text", text: lines.join("\n\n") }],
    origin: outsideOrigin("web", finalUrl),
    details: {
      ...about,
      finalUrl,
      status,
      contentType,
      ...(title ? { title } : {}),
      extractor,
      truncated,
      length: text.length,
      fetchedAt,
    },
    ...(isOk(status) ? {} : { isError: true }),
  };
}
