/**
 * Tags for speech in texts of models. Pure. `[[tts]]` marks a text to speak, `[[tts:voice=nova speed=1.2]]` also has
 * settings, and `[[tts:text]]...[[/tts:text]]` contains words to speak instead of the shown text.
 */

/** A text without its tags, and what they say. */
export interface SpeechTags {
  readonly shown: string;
  /** There is at least one tag. */
  readonly isTagged: boolean;
  /** Words of the text blocks; absent: there is none. */
  readonly spoken?: string;
  /** Settings of the tags, names in lower case; of two values for the same name, the last one. */
  readonly settings: Readonly<Record<string, string>>;
}

const MAX_TAG_CHARS = 500;
const TAG = new RegExp(
  String.raw`\[\[[ \t]{0,8}(\/?)tts(?::([^[\]\n]{0,${MAX_TAG_CHARS}}))?[ \t]{0,8}\]\][ \t]*`,
  "gi",
);
/** The beginning of a tag at the end of a text. */
const UNFINISHED = new RegExp(
  String.raw`\[(?:\[[ \t]{0,8}(?:\/?(?:t(?:t(?:s(?:[: \t][^[\]\n]{0,${MAX_TAG_CHARS}}|[ \t]{0,8})\]?)?)?)?)?)?$`,
  "i",
);
const SETTING = /(?<![^\s])([a-z][a-z0-9_]{0,31})=([^\s"]{1,100})/gi;

/**
 * Reads the tags of a text. A block that is not closed is a part of the shown text, so that no words are lost.
 * @param options.isGrowing the text may continue: a block that is not closed yet, and the beginning of a tag, are not shown
 */
export function readSpeechTags(text: string, { isGrowing = false }: { readonly isGrowing?: boolean } = {}): SpeechTags {
  if (!text.includes("[")) return { shown: text, isTagged: false, settings: {} };
  const settings: Record<string, string> = Object.create(null) as Record<string, string>; // "constructor" is no setting
  const blocks: string[] = [];
  let [shown, block, at, isTagged] = ["", undefined as string | undefined, 0, false];
  const take = (part: string) => {
    if (block === undefined) shown += part;
    else block += part;
  };
  for (const found of text.matchAll(TAG)) {
    const [tag, slash, inner = ""] = found;
    take(text.slice(at, found.index));
    at = found.index + tag.length;
    isTagged = true;
    const isBlock = inner.trim().toLowerCase() === "text";
    if (isBlock && slash === "" && block === undefined) block = "";
    else if (isBlock && slash !== "" && block !== undefined) {
      blocks.push(block.trim());
      block = undefined;
    } else for (const [, name = "", value = ""] of inner.matchAll(SETTING)) settings[name.toLowerCase()] = value;
  }
  const rest = text.slice(at);
  take(isGrowing ? rest.replace(UNFINISHED, "") : rest);
  if (block !== undefined && !isGrowing) shown += block;
  const spoken = blocks.filter((words) => words !== "").join("\n\n");
  return { shown, isTagged, settings, ...(spoken === "" ? {} : { spoken }) };
}
