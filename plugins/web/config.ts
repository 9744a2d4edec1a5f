/** The configuration section `tools.web`. Spec: http/config-keys.md `tools.web.*`. */
import { type Static, Strict, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";

const seconds = (description: string) => Type.Integer({ minimum: 1, maximum: 600, default: 30, description });
const minutes = (description: string) => Type.Number({ minimum: 0, default: 15, description });

/** Most characters of a page: a result of 100000 is cut, and the end of what came from outside has to stay in it. */
const MAX_CHARS = 90_000;

const Search = Strict(
  {
    enabled: Type.Boolean({ default: true, description: "false: there is no tool web_search" }),
    provider: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Which search engine is asked: brave, searxng, or one of a plugin; default: one that is set up",
      }),
    ),
    apiKey: Type.Optional(
      SecretSetting({ description: "Key of the Brave Search API, or a reference to it; never shown again" }),
    ),
    maxResults: Type.Integer({ minimum: 1, maximum: 10, default: 5, description: "Results, unless the model says" }),
    timeoutSeconds: seconds("Seconds a search may take"),
    cacheTtlMinutes: minutes("Minutes an answer is used again; 0: never"),
    searxng: Strict(
      {
        baseUrl: Type.Optional(
          Type.String({
            pattern: "^https?://",
            description: "Address of a SearXNG instance with the format json, which may be one inside this network",
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
    enabled: Type.Boolean({ default: true, description: "false: there is no tool web_fetch" }),
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
      description: "Characters of a page, whatever the model asks for",
    }),
    timeoutSeconds: seconds("Seconds a page and all its redirects may take"),
    cacheTtlMinutes: minutes("Minutes a page is used again; 0: never"),
    maxRedirects: Type.Integer({
      minimum: 0,
      maximum: 20,
      default: 3,
      description: "Redirects that are followed; 0: none",
    }),
    userAgent: Type.Optional(
      Type.String({
        pattern: "^[\\x20-\\x7e]+$",
        description: "What it says it is; default: svc/1.0",
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
