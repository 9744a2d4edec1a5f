/** The `media` namespace: tries the configuration of `tools.media` with a file. Choice: the specification has no such methods. */
import { defineContract } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

/** Choice: bytes of a file, so that its base64 fits in one frame. */
export const MAX_TRIED_BYTES = 18_000_000;

const Params = Strict({
  data: Type.String({
    minLength: 1,
    maxLength: Math.ceil(MAX_TRIED_BYTES / 3) * 4,
    description: `base64 of the file, at most ${MAX_TRIED_BYTES} bytes`,
  }),
});

/** Reads a file as agents get it. */
export const media = defineContract("media", {
  transcribe: {
    summary: "Transcribe a sound file or the sound of a video, as voice messages are",
    scope: "operator.write",
    advertised: false,
    params: Params,
    result: Type.Object({ text: Type.String() }),
  },
  describe: {
    summary: "Describe a picture, or the pictures of a video, as for a model that accepts none",
    scope: "operator.write",
    advertised: false,
    params: Params,
    result: Type.Object({
      descriptions: Type.Array(Type.Object({ text: Type.String(), by: NonEmpty }), {
        description: "one of a picture; of a video one for each of its key frames",
      }),
      seconds: Type.Optional(Type.Number({ description: "length of a video" })),
    }),
  },
});
