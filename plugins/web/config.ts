/** The configuration section `tools.web`. Spec: http/config-keys.md `tools.web.*`. */
import { type Static, Strict, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";

const seconds = (description: string) => Type.Integer({ minimum: 1, maximum: 600, default: 30, description });
const minutes = (description: string) => Type.Number({ minimum: 0, default: 15, description });

/**
 * Maximum characters of a page: a tool result is cut at 100000, and must still contain the end marker of external
 * content.
 */
const MAX_CHARS = 90_000;

const Search = Strict(
  {
    enabled: Type.Boolean({ default: true, description: "false removes the tool web_search" }),
    provider: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Search engine: brave, searxng, or an engine of a plugin; default: the first that is configured",
      }),
    ),
    apiKey: Type.Optional(
      SecretSetting({ description: "Key of the Brave Search API, or a reference to it; never shown again" }),
    ),
    maxResults: Type.Integer({
      minimum: 1,
      maximum: 10,
      default: 5,
      description: "Results, unless the model sets a number",
    }),
    timeoutSeconds: seconds("Time limit of a search in seconds"),
    cacheTtlMinutes: minutes("Minutes for which a result is cached; 0: not cached"),
    searxng: Strict(
      {
        baseUrl: Type.Optional(
          Type.String({
            pattern: "^https?://",
            description: "Address of a SearXNG instance with the format json; it may be inside this network",
          }),
        ),
      },
      { default: {} },
    ),
  },
  { default: {}, description: "The tool web_search" },
);

const Fetch = Strict(
  {
    enabled: Type.Boolean({ default: true, description: "false removes the tool web_fetch" }),
    maxChars: Type.Integer({
      minimum: 1,
      maximum: MAX_CHARS,
      default: 50_000,
      description: "Characters of a page, unless the model asks for fewer or more",
    }),
    maxCharsCap: Type.Integer({
      minimum: 1,
      maximum: MAX_CHARS,
      default: 50_000,
      description: "Upper limit for the characters of a page that the model may ask for",
    }),
    timeoutSeconds: seconds("Time limit of a page and all its redirects in seconds"),
    cacheTtlMinutes: minutes("Minutes for which a page is cached; 0: not cached"),
    maxRedirects: Type.Integer({
      minimum: 0,
      maximum: 20,
      default: 3,
      description: "Redirects to follow; 0: none",
    }),
    userAgent: Type.Optional(
      Type.String({
        pattern: "^[\\x20-\\x7e]+$",
        description: "User-Agent header; default: svc/1.0",
      }),
    ),
  },
  { default: {}, description: "The tool web_fetch" },
);

/** Section `tools.web`. */
export const WebConfig = Strict({ search: Search, fetch: Fetch });

export type WebConfig = Static<typeof WebConfig>;
export type SearchSettings = WebConfig["search"];
export type FetchSettings = WebConfig["fetch"];
