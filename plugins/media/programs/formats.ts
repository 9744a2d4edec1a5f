/** Formats of sound files, detected from their bytes: a declared type comes from a stranger. Pure. */

export interface SoundFormat {
  /** Ending of a file name. */
  readonly ending: string;
  readonly mimeType: string;
}

const ascii = (bytes: Uint8Array, start: number, end: number) =>
  Buffer.from(bytes.subarray(start, end)).toString("latin1");

const OGG = { ending: "ogg", mimeType: "audio/ogg" };
const WAV = { ending: "wav", mimeType: "audio/wav" };
const FLAC = { ending: "flac", mimeType: "audio/flac" };
const MP3 = { ending: "mp3", mimeType: "audio/mpeg" };
const MP4 = { ending: "m4a", mimeType: "audio/mp4" };
const WEBM = { ending: "webm", mimeType: "audio/webm" };

/** One of the formats that transcription servers accept; `undefined`: none of them. */
export function soundFormat(bytes: Uint8Array): SoundFormat | undefined {
  const head = ascii(bytes, 0, 4);
  if (head === "OggS") return OGG;
  if (head === "RIFF" && ascii(bytes, 8, 12) === "WAVE") return WAV;
  if (head === "fLaC") return FLAC;
  if (ascii(bytes, 4, 8) === "ftyp") return MP4;
  if (head === "\x1aE\xdf\xa3") return WEBM;
  const [first = 0, second = 0] = bytes;
  const isFrame = first === 0xff && (second & 0xe6) === 0xe2; // sync word, layer III
  return head.startsWith("ID3") || isFrame ? MP3 : undefined;
}
