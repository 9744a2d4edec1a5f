/** The engine `espeak`: the program espeak-ng of this machine. It needs no network. */
import { invalidRequest, unavailable } from "@svc/sdk";
import type { SpeechEngine } from "@svc/sdk/speech";
import type { TtsConfig } from "../config.ts";
import { findProgram, runBytes } from "../programs.ts";
import { spoken } from "../audio.ts";

export interface EspeakParts {
  readonly settings: () => TtsConfig["espeak"];
}

const PROGRAM = "espeak-ng";
/** Words per minute at speed 1: the program's own default. */
const WORDS_PER_MINUTE = 175;
/** A name of a voice or language; never an option. */
const VOICE = /^[a-z][a-z0-9+_-]{0,40}$/i;

export function createEspeak({ settings }: EspeakParts): SpeechEngine {
  return {
    label: "eSpeak NG",
    models: [],
    missing: async () =>
      (await findProgram(PROGRAM)) === undefined
        ? "install espeak-ng on the gateway, e.g. apt-get install espeak-ng"
        : undefined,
    async speak({ text, voice, language, settings: wished = {} }, signal) {
      const file = (await findProgram(PROGRAM)) ?? unavailable("espeak-ng is not installed on the gateway");
      const name = voice ?? language ?? settings().voice;
      if (!VOICE.test(name)) invalidRequest(`"${name}" is not a voice of espeak-ng; see: espeak-ng --voices`);
      const speed = Number(wished["speed"]);
      const rate = speed >= 0.5 && speed <= 2 ? Math.round(WORDS_PER_MINUTE * speed) : WORDS_PER_MINUTE;
      // The text goes to standard input: the command line is visible in the process list.
      const args = ["-b", "1", "-v", name, "-s", String(rate), "--stdin", "--stdout"];
      const input = Buffer.from(text.replaceAll("\0", " "));
      return spoken(withSizes(await runBytes({ file, name: PROGRAM, args, input, signal })), "eSpeak NG");
    },
  };
}

/** The program writes the header before it knows the size of the audio. */
function withSizes(wav: Buffer): Buffer {
  const data = wav.indexOf("data", 12, "latin1");
  if (wav.toString("latin1", 0, 4) !== "RIFF" || data < 0 || data + 8 > wav.length) return wav;
  const sized = Buffer.from(wav);
  sized.writeUInt32LE(wav.length - 8, 4);
  sized.writeUInt32LE(wav.length - data - 8, data + 4);
  return sized;
}
