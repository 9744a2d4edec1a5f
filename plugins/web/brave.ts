/** The search engine `brave`: the Brave Search API, with the operator's key. */
import { matches, Type } from "@svc/sdk";
import type { WebSearchProvider, WebSearchQuery, WebSearchResult } from "@svc/sdk/web";
import { plainText } from "./plain-text.ts";
import { askJson, type Fetch } from "./search-http.ts";

export interface BraveOptions {
  readonly hasKey: boolean;
  /** @throws GatewayError `UNAVAILABLE` if it cannot be resolved */
  readonly key: () => Promise<string>;
  /** Default: the public API. */
  readonly endpoint?: string;
  readonly fetch?: Fetch;
}

const ENDPOINT = "https://api.search.brave.com/res/v1/web/search";
const KEY = "tools.web.search.apiKey";

const FRESHNESS = { day: "pd", week: "pw", month: "pm", year: "py" } as const;

const Item = Type.Object({
  title: Type.String(),
  url: Type.String(),
  description: Type.Optional(Type.String()),
  age: Type.Optional(Type.String()),
});
const Answer = Type.Object({ web: Type.Optional(Type.Object({ results: Type.Array(Type.Unknown()) })) });

export function createBrave({
  hasKey,
  key,
  endpoint = ENDPOINT,
  fetch = globalThis.fetch,
}: BraveOptions): WebSearchProvider {
  return {
    label: "Brave Search",
    missing: () => (hasKey ? undefined : `set ${KEY} to a key of the Brave Search API`),
    async search(query, signal) {
      const headers = { "x-subscription-token": (await key()).trim() };
      const wrongKey = `check the key in ${KEY}`;
      const advice = {
        401: wrongKey,
        403: wrongKey,
        422: `check country, language and the key in ${KEY}`,
        429: "too many searches for this key: wait, or upgrade its plan",
      };
      const url = braveUrl(endpoint, query);
      return braveResults(await askJson(fetch, { engine: "Brave Search", url, headers, advice, signal }));
    },
  };
}

function braveUrl(endpoint: string, { query, count, country, language, freshness }: WebSearchQuery): URL {
  const url = new URL(endpoint);
  const asked = {
    q: query,
    count: String(count),
    text_decorations: "false",
    ...(country ? { country: country.toUpperCase() } : {}),
    ...(language ? { search_lang: language.toLowerCase() } : {}),
    ...(freshness ? { freshness: FRESHNESS[freshness] } : {}),
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  return url;
}

/** Ignores items that are not search results. */
function braveResults(answer: unknown): WebSearchResult[] {
  const items = matches(Answer, answer) ? (answer.web?.results ?? []) : [];
  return items.flatMap((item) => {
    if (!matches(Item, item)) return [];
    const { title, url, description = "", age } = item;
    const published = age === undefined ? {} : { published: age };
    return [{ title: plainText(title), url, snippet: plainText(description), ...published }];
  });
}
