/** Converts audio with the program ffmpeg, if it is installed. */
import type { SpeechFormat, SpokenAudio } from "@svc/sdk/speech";
import { formatOf, MAX_AUDIO_BYTES } from "./audio.ts";
import { findProgram, runBytes } from "./programs.ts";

const INPUT: Readonly<Record<SpeechFormat, string>> = { opus: "ogg", mp3: "mp3", wav: "wav" };
const OUTPUT: Readonly<Record<SpeechFormat, readonly string[]>> = {
  opus: ["-c:a", "libopus", "-application", "voip", "-b:a", "32k", "-ar", "48000", "-f", "ogg"],
  mp3: ["-c:a", "libmp3lame", "-b:a", "64k", "-f", "mp3"],
  wav: ["-c:a", "pcm_s16le", "-f", "wav"],
};

/**
 * The audio in this format; unchanged if it has the format already, or if ffmpeg is missing.
 * @throws GatewayError `UNAVAILABLE` if ffmpeg fails; the signal's reason
 */
export async function converted(audio: SpokenAudio, format: SpeechFormat, signal: AbortSignal): Promise<SpokenAudio> {
  if (audio.format === format) return audio;
  const file = await findProgram("ffmpeg");
  if (file === undefined) return audio;
  // The formats are named and only pipes are allowed: the bytes may come from a stranger, and some formats name other files.
  const input = ["-protocol_whitelist", "pipe", "-f", INPUT[audio.format], "-i", "pipe:0"];
  const args = [
    "-hide_banner",
    "-loglevel",
    "error",
    ...input,
    "-map",
    "0:a:0",
    "-ac",
    "1",
    ...OUTPUT[format],
    "pipe:1",
  ];
  const bytes = await runBytes({ file, name: "ffmpeg", args, input: audio.bytes, signal });
  // Without libopus or libmp3lame in this ffmpeg, the program fails; an odd result is not sent either.
  const isRight = formatOf(bytes) === format && bytes.length <= MAX_AUDIO_BYTES;
  return isRight ? { ...audio, bytes, format } : audio;
}
