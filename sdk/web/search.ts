/** The `WebSearchProvider` extension point: search engines for the tool `web_search`. */
import { defineExtensionPoint } from "../service.ts";

/** A search query. */
export interface WebSearchQuery {
  readonly query: string;
  /** Wanted number of results, 1 to 10. */
  readonly count: number;
  /** Two letters, e.g. `DE`. Ignored by providers that do not support it. */
  readonly country?: string;
  /** E.g. `de`. */
  readonly language?: string;
  /** Maximum age of a page. */
  readonly freshness?: "day" | "week" | "month" | "year";
}

/** One search result. */
export interface WebSearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  /** Publication date in the format of the engine. */
  readonly published?: string;
}

/** A search engine. The contribution id is the value of `tools.web.search.provider`. */
export interface WebSearchProvider {
  /** Shown to people. */
  readonly label: string;
  /**
   * What is missing before the engine can be used, as a sentence that names the configuration key; `undefined`:
   * nothing.
   */
  missing(): string | undefined;
  /** @throws GatewayError `UNAVAILABLE` or `INVALID_REQUEST` with a message for people */
  search(query: WebSearchQuery, signal: AbortSignal): Promise<readonly WebSearchResult[]>;
}

/** Token of the extension point. */
export const WebSearchProvider = defineExtensionPoint<WebSearchProvider>("web.search.provider", {
  summary:
    "Search engines. Owned by the plugin `web`, whose tool `web_search` uses them; contributed by one plugin per engine.",
  remotable: true,
});
