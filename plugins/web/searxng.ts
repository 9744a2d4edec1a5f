/** The search engine `searxng`: an instance that the operator runs or trusts, queried by its JSON interface. */
import { matches, Type, unavailable } from "@svc/sdk";
import type { WebSearchProvider, WebSearchQuery, WebSearchResult } from "@svc/sdk/web";
import { askJson, type Fetch } from "./search-http.ts";

export interface SearxngOptions {
  /** The address may be inside this network: the operator sets it, not external content. */
  readonly baseUrl: string | undefined;
  readonly fetch?: Fetch;
}

const KEY = "tools.web.search.searxng.baseUrl";

const Item = Type.Object({
  title: Type.String(),
  url: Type.String(),
  content: Type.Optional(Type.Unknown()),
  publishedDate: Type.Optional(Type.Unknown()),
});
const Answer = Type.Object({ results: Type.Array(Type.Unknown()) });

export function createSearxng({ baseUrl, fetch = globalThis.fetch }: SearxngOptions): WebSearchProvider {
  return {
    label: "SearXNG",
    missing: () => (baseUrl === undefined ? `set ${KEY} to the address of a SearXNG instance` : undefined),
    async search(query, signal) {
      if (baseUrl === undefined || !URL.canParse(baseUrl))
        return unavailable(`${KEY} is not a URL; set it to the address of a SearXNG instance`);
      const advice = {
        403: "allow the format json in its settings.yml (search.formats)",
        429: "its rate limiter refused the request",
      };
      const url = searxngUrl(baseUrl, query);
      const found = searxngResults(await askJson(fetch, { engine: "SearXNG", url, advice, signal }));
      return found.slice(0, query.count);
    },
  };
}

/** SearXNG has no parameter for the number of results, and the country is a part of the language. */
function searxngUrl(baseUrl: string, { query, country, language, freshness }: WebSearchQuery): URL {
  const url = new URL("search", baseUrl.endsWith("/") ? baseUrl : `${baseUrl}/`);
  const region = language && country ? `${language.toLowerCase()}-${country.toUpperCase()}` : language?.toLowerCase();
  const asked = {
    q: query,
    format: "json",
    ...(region ? { language: region } : {}),
    ...(freshness ? { time_range: freshness } : {}),
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  return url;
}

/** Ignores items that are not search results. */
function searxngResults(answer: unknown): WebSearchResult[] {
  const items = matches(Answer, answer) ? answer.results : [];
  return items.flatMap((item) => {
    if (!matches(Item, item)) return [];
    const { title, url, content, publishedDate } = item;
    const published = typeof publishedDate === "string" ? { published: publishedDate } : {};
    return [{ title, url, snippet: typeof content === "string" ? content : "", ...published }];
  });
}
