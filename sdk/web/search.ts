/** The `WebSearchProvider` extension point: engines the tool `web_search` can ask. */
import { defineExtensionPoint } from "../service.ts";

/** A question to a search engine. */
export interface WebSearchQuery {
  readonly query: string;
  /** Results wanted, 1 to 10. */
  readonly count: number;
  /** Two letters, e.g. `DE`. Providers that cannot use it leave it out. */
  readonly country?: string;
  /** E.g. `de`. */
  readonly language?: string;
  /** How old a page may be. */
  readonly freshness?: "day" | "week" | "month" | "year";
}

/** One page that was found. */
export interface WebSearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  /** As the engine puts it. */
  readonly published?: string;
}

/** A search engine. Contribution id = value of `tools.web.search.provider`. */
export interface WebSearchProvider {
  /** Shown to people. */
  readonly label: string;
  /** What is missing before it can be asked, in a sentence that names the key; `undefined`: nothing. */
  missing(): string | undefined;
  /** @throws GatewayError `UNAVAILABLE` or `INVALID_REQUEST` with a message for people */
  search(query: WebSearchQuery, signal: AbortSignal): Promise<readonly WebSearchResult[]>;
}

/** Search engines. Owner: the plugin `web`. */
export const WebSearchProvider = defineExtensionPoint<WebSearchProvider>("web.search.provider", { remotable: true });
