/** Section `gateway.http.endpoints.chatCompletions`. Spec: http/chat-completions.md §9. */
import { type Static, Strict, Type } from "@svc/sdk";

/** Takes effect at once, without a reload. */
const hot = (description: string) => ({ description, reload: "hot" });

// Choice: no image/heic or image/heif by default: no model accepts them, and the gateway cannot convert them.
const MIMES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const Images = Strict(
  {
    allowUrl: Type.Boolean({
      default: false,
      ...hot("Images may be http(s) URLs, which are fetched; default false: data URLs only. Set urlAllowlist first"),
    }),
    urlAllowlist: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), hot("Hosts to fetch from, `*.suffix` too; default: any public host")),
    ),
    allowedMimes: Type.Array(Type.String({ pattern: "^[a-z]+/[a-z0-9.+-]+$" }), {
      default: MIMES,
      ...hot("Accepted types; default PNG, JPEG, GIF and WebP"),
    }),
    maxBytes: Type.Integer({ minimum: 1, default: 10_485_760, ...hot("Bytes of one image; default 10 MiB") }),
    maxTotalBytes: Type.Integer({
      minimum: 1,
      default: 20_971_520,
      ...hot("Bytes of all images of a request, decoded; default 20 MiB"),
    }),
    maxParts: Type.Integer({ minimum: 0, default: 8, ...hot("Images of the latest message; default 8, 0: none") }),
    maxRedirects: Type.Integer({ minimum: 0, default: 3, ...hot("Redirects of one fetch; default 3, 0: none") }),
    timeoutMs: Type.Integer({
      minimum: 1,
      default: 10_000,
      ...hot("Time limit of one fetch in milliseconds; default 10000"),
    }),
  },
  { default: {}, description: "Images in messages" },
);

export const ChatCompletionsConfig = Strict(
  {
    enabled: Type.Boolean({ default: false, ...hot("Serve /v1/chat/completions and /v1/models; default false") }),
    maxBodyBytes: Type.Integer({ minimum: 1, default: 20_971_520, description: "Bytes of a request; default 20 MiB" }),
    images: Images,
  },
  { title: "Chat completions", description: "The chat-completions API for the agents" },
);
export type ChatCompletionsConfig = Static<typeof ChatCompletionsConfig>;

export type ImageSettings = ChatCompletionsConfig["images"];
