/** The configuration section `tools.media`. */
import { type Static, Strict, Type } from "@svc/sdk";

const count = (value: number, description: string) => Type.Integer({ default: value, minimum: 1, description });

/** Changes take effect at the next call of a tool. */
export const MediaConfig = Strict(
  {
    model: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "Model for all pictures and documents, regardless of the call: provider/id, or an alias; default: the model of the call, else the default model, else the first that accepts images",
      }),
    ),
    maxBytes: count(10_485_760, "Bytes of one picture or document; default 10485760"),
    maxChars: count(200_000, "Characters of text of all documents of one call, the rest is cut; default 200000"),
    timeoutSeconds: Type.Integer({
      default: 120,
      minimum: 1,
      maximum: 3_600,
      description: "Seconds for one call, the model's answer included; default 120",
    }),
    pdf: Strict(
      {
        maxPages: count(20, "Pages of all documents of one call; default 20"),
        maxPixels: count(4_000_000, "Width times height of a page drawn as a picture; default 4000000"),
        minTextChars: Type.Integer({
          default: 200,
          minimum: 0,
          description:
            "Characters; the pages of a document with less text are drawn as pictures; default 200, 0: never",
        }),
      },
      { default: {} },
    ),
  },
  { reload: "hot", order: 130 },
);
export type MediaConfig = Static<typeof MediaConfig>;
