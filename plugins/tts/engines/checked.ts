/** Bytes of an engine as audio. */
import { unavailable } from "@svc/sdk";
import type { SpokenAudio } from "@svc/sdk/speech";
import { formatOf, MAX_AUDIO_BYTES } from "../audio.ts";

/** @param engine name in error messages @throws GatewayError `UNAVAILABLE` if these bytes are no audio */
export function spoken(bytes: Uint8Array, engine: string): SpokenAudio {
  if (bytes.byteLength > MAX_AUDIO_BYTES) unavailable(`${engine} returned more than ${MAX_AUDIO_BYTES} bytes`);
  const format = formatOf(bytes);
  return format === undefined ? unavailable(`${engine} did not return audio`) : { bytes, format };
}
