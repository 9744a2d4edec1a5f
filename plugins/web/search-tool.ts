/** The tool `web_search`: queries the configured engine, and marks the results as external content. */
import { withDeadline } from "@svc/kit/time";
import { type Clock, type Contribution, type ExtensionView, Strict, Type, untilAborted } from "@svc/sdk";
import { externalLine, wrapExternalContent } from "@svc/sdk/external-content";
import { defineTool, type Tool, type ToolResult } from "@svc/sdk/tools";
import type { WebSearchProvider, WebSearchQuery, WebSearchResult } from "@svc/sdk/web";
import { createCache } from "./cache.ts";
import type { SearchSettings } from "./config.ts";

export interface SearchToolParts {
  readonly settings: SearchSettings;
  readonly providers: ExtensionView<WebSearchProvider>;
  readonly clock: Clock;
}

const MAX_SNIPPET = 600;
const MAX_TITLE = 200;

const Params = Strict({
  query: Type.String({ minLength: 1, maxLength: 400, pattern: "\\S", description: "Search terms" }),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, description: "Number of results" })),
  country: Type.Optional(Type.String({ pattern: "^[a-zA-Z]{2}$", description: "Country, two letters, e.g. DE" })),
  language: Type.Optional(
    Type.String({ pattern: "^[a-zA-Z]{2,3}(-[a-zA-Z]{2,4})?$", description: "Language, e.g. de" }),
  ),
  freshness: Type.Optional(Type.Enum(["day", "week", "month", "year"], { description: "Maximum age of a page" })),
});

/** The chosen engine, or the reason why no engine can be used. */
type Choice = { readonly engine: Contribution<WebSearchProvider> } | { readonly problem: string };

export function createSearchTool({ settings, providers, clock }: SearchToolParts): Tool {
  const cache = createCache<readonly WebSearchResult[]>({
    clock,
    ttlMs: settings.cacheTtlMinutes * 60_000,
    maxEntries: 100,
    maxSize: 1_000_000,
    sizeOf: (results) => JSON.stringify(results).length,
  });

  function choose(): Choice {
    const all = providers.list();
    const missing = (one: Contribution<WebSearchProvider>) => providers.call(one, (value) => value.missing());
    const ids = all.map(({ id }) => id).join(", ");
    if (settings.provider !== undefined) {
      const engine = providers.get(settings.provider);
      if (!engine)
        return {
          problem: `unknown search engine "${settings.provider}"; set tools.web.search.provider to one of ${ids}`,
        };
      const lack = missing(engine);
      return lack === undefined ? { engine } : { problem: `${engine.value.label} is not configured: ${lack}` };
    }
    const lacks = all.map((engine) => ({ engine, lack: missing(engine) }));
    const ready = lacks.find(({ lack }) => lack === undefined);
    if (ready) return { engine: ready.engine };
    return { problem: `no search engine is configured: ${lacks.map(({ lack }) => lack).join("; or ")}` };
  }

  async function ask(engine: Contribution<WebSearchProvider>, query: WebSearchQuery, signal: AbortSignal) {
    const { timeoutSeconds } = settings;
    const late = () => `${engine.value.label} did not respond within ${timeoutSeconds} s`;
    const found = await withDeadline({ ms: timeoutSeconds * 1_000, clock, signals: [signal], late }, (stop) =>
      untilAborted(
        providers.call(engine, (value) => value.search(query, stop)),
        stop,
      ),
    );
    return found.flatMap(cleaned).slice(0, query.count);
  }

  return defineTool({
    label: "Web search",
    description: "Searches the web and returns titles, URLs and snippets. Read a page with web_fetch.",
    params: Params,
    scope: "operator.read",
    effects: ["reads"],
    independent: true,
    brings: "web",
    async run(params, { signal }) {
      const choice = choose();
      if ("problem" in choice) return problemOf(choice.problem);
      const began = clock.elapsed();
      const { engine } = choice;
      const query: WebSearchQuery = { ...params, count: params.count ?? settings.maxResults };
      const key = JSON.stringify([engine.id, query.query, query.count, query.country, query.language, query.freshness]);
      const kept = cache.get(key);
      const results = kept ?? (await ask(engine, query, signal));
      if (!kept) cache.set(key, results);
      const tookMs = Math.round(clock.elapsed() - began);
      return resultOf(results, { query: query.query, provider: engine.id, cached: kept !== undefined, tookMs });
    },
  });
}

/**
 * The result without an engine. It is no error: the model can continue, and a person learns which key to set. Spec:
 * http/tools-invoke.md §4.
 */
function problemOf(message: string): ToolResult {
  const text = `Search is not available: ${message}.`;
  return { content: [{ type: "text", text }], details: { error: "search_not_configured", message } };
}

/** Each field on one line, without text that looks like a marker; results without an http(s) URL are dropped. */
function cleaned({ title, url, snippet, published }: WebSearchResult): WebSearchResult[] {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address === undefined || !["http:", "https:"].includes(address.protocol) || address.href.length > 2_000)
    return [];
  const line = (text: string, max: number) => externalLine(text.slice(0, max * 8), max);
  return [
    {
      title: line(title, MAX_TITLE),
      url: address.href,
      snippet: line(snippet, MAX_SNIPPET),
      ...(published === undefined ? {} : { published: line(published, 40) }),
    },
  ];
}

interface About {
  readonly query: string;
  readonly provider: string;
  readonly cached: boolean;
  readonly tookMs: number;
}

function resultOf(results: readonly WebSearchResult[], about: About): ToolResult {
  const lines = results.map(({ title, url, snippet, published }, index) => {
    const rest = [published, snippet].filter((part) => part).join(": ");
    return [`${index + 1}. ${title}`, `   ${url}`, ...(rest ? [`   ${rest}`] : [])].join("\n");
  });
  const text = results.length === 0 ? "No results." : wrapExternalContent(lines.join("\n"), { source: "web search" });
  return { content: [{ type: "text", text }], details: { ...about, count: results.length, results } };
}
