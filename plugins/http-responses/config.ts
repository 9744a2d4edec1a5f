/** Section `gateway.http.endpoints.responses`. Spec: http/responses.md §1 and §4. */
import { type Static, Strict, Type } from "@svc/sdk";

const hot = { reload: "hot" } as const;
const positive = (fallback: number, description: string, options: object = hot) =>
  Type.Integer({ default: fallback, minimum: 1, description, ...options });
const count = (fallback: number, description: string) =>
  Type.Integer({ default: fallback, minimum: 0, description, ...hot });

/**
 * Keys shared by files and images. A change of `maxBytes` reloads the plugin: the limit of the body may depend on it.
 */
const source = (what: string, mimes: readonly string[], maxBytes: number) => ({
  allowUrl: Type.Boolean({ default: true, description: `fetch ${what} by URL`, ...hot }),
  urlAllowlist: Type.Optional(
    Type.Array(Type.String(), {
      description:
        "hosts to fetch from: exact names, `*.suffix` for names below a suffix, or URL prefixes; default and blank: every public host",
      ...hot,
    }),
  ),
  allowedMimes: Type.Array(Type.String(), {
    default: [...mimes],
    description: `accepted media types of ${what}, in lower case`,
    ...hot,
  }),
  maxBytes: positive(maxBytes, "maximum bytes of one file or image, decoded", {}),
  maxRedirects: count(3, "maximum redirects of one fetch; 0: none"),
  timeoutMs: positive(10_000, "time limit of one fetch in milliseconds, redirects included"),
});

const FILE_MIMES = ["text/plain", "text/markdown", "text/html", "text/csv", "application/json", "application/pdf"];
const IMAGE_MIMES = ["image/jpeg", "image/png", "image/gif", "image/webp"];

const Pdf = Strict(
  {
    maxPages: positive(4, "pages that are read from a PDF"),
    maxPixels: positive(4_000_000, "width times height of a rendered page"),
    minTextChars: count(200, "a PDF with less text than this many characters is shown as pictures"),
  },
  { default: {} },
);

export const ResponsesConfig = Strict(
  {
    enabled: Type.Boolean({ default: false, description: "serve POST /v1/responses", ...hot }),
    maxBodyBytes: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "maximum bytes of a request; default: 20971520, or twice the larger maxBytes if that is more",
      }),
    ),
    maxUrlParts: count(8, "maximum URLs of images and files together in one request; 0: none"),
    files: Strict(
      {
        ...source("files", FILE_MIMES, 5_242_880),
        maxChars: positive(200_000, "characters of one file's text; the rest is cut"),
        pdf: Pdf,
      },
      { default: {} },
    ),
    images: Strict(source("images", IMAGE_MIMES, 10_485_760), { default: {} }),
  },
  { title: "Responses API", description: "The responses API for the agents" },
);
export type ResponsesConfig = Static<typeof ResponsesConfig>;

const DEFAULT_BODY_BYTES = 20_971_520;

/** Maximum bytes of a request: room for one file or picture of the largest size as base64. */
export function bodyLimit({ maxBodyBytes, files, images }: ResponsesConfig): number {
  return maxBodyBytes ?? Math.max(DEFAULT_BODY_BYTES, 2 * files.maxBytes, 2 * images.maxBytes);
}
