/** Section `gateway.http.endpoints.responses`. Spec: http/responses.md §1 and §4. */
import { type Static, Strict, Type } from "@svc/sdk";

const hot = { reload: "hot" } as const;
const positive = (fallback: number, description: string, options: object = hot) =>
  Type.Integer({ default: fallback, minimum: 1, description, ...options });
const count = (fallback: number, description: string) =>
  Type.Integer({ default: fallback, minimum: 0, description, ...hot });

/** Keys that files and images share. `maxBytes` is not hot: the limit of the body may follow from it. */
const source = (what: string, mimes: readonly string[], maxBytes: number) => ({
  allowUrl: Type.Boolean({ default: true, description: `whether ${what} may be given as a URL to fetch`, ...hot }),
  urlAllowlist: Type.Optional(
    Type.Array(Type.String(), {
      description:
        "hosts that may be fetched from: exact names, `*.suffix` for what is below one, or URL prefixes; default and blank: every public host",
      ...hot,
    }),
  ),
  allowedMimes: Type.Array(Type.String(), {
    default: [...mimes],
    description: `media types of ${what} that are taken, in lower case`,
    ...hot,
  }),
  maxBytes: positive(maxBytes, "bytes of one, decoded", {}),
  maxRedirects: count(3, "redirects that are followed; 0: none"),
  timeoutMs: positive(10_000, "milliseconds one fetch may take, redirects included"),
});

const FILE_MIMES = ["text/plain", "text/markdown", "text/html", "text/csv", "application/json", "application/pdf"];
const IMAGE_MIMES = ["image/jpeg", "image/png", "image/gif", "image/webp"];

const Pdf = Strict(
  {
    maxPages: positive(4, "pages of a PDF that are looked at"),
    maxPixels: positive(4_000_000, "width times height of a rendered page"),
    minTextChars: count(200, "a PDF with less text than this many characters is shown as pictures"),
  },
  { default: {} },
);

export const ResponsesConfig = Strict(
  {
    enabled: Type.Boolean({ default: false, description: "whether POST /v1/responses answers", ...hot }),
    maxBodyBytes: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "bytes of a request; default: 20971520, or twice the larger maxBytes where that is more",
      }),
    ),
    maxUrlParts: count(8, "URLs of images and files together that one request may have fetched"),
    files: Strict(
      {
        ...source("files", FILE_MIMES, 5_242_880),
        maxChars: positive(200_000, "characters of one file's text; the rest is cut off"),
        pdf: Pdf,
      },
      { default: {} },
    ),
    images: Strict(source("images", IMAGE_MIMES, 10_485_760), { default: {} }),
  },
  { title: "Responses API", description: "POST /v1/responses in front of the agents" },
);
export type ResponsesConfig = Static<typeof ResponsesConfig>;

const DEFAULT_BODY_BYTES = 20_971_520;

/** Bytes a request may have: room for one file or picture of the largest size as base64. */
export function bodyLimit({ maxBodyBytes, files, images }: ResponsesConfig): number {
  return maxBodyBytes ?? Math.max(DEFAULT_BODY_BYTES, 2 * files.maxBytes, 2 * images.maxBytes);
}
