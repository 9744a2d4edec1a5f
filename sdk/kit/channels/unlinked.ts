/** Texts for networks whose marks are those of `mrkdwn`, without named links. Pure. */
import { unescaped } from "./unescaped.ts";

const LINK = /<([^<>|\s]+)(?:\|([^<>]*))?>/g;

/** Converts `mrkdwn`: `<url|words>` becomes `words (url)`, and nothing stays escaped. */
export function unlinked(mrkdwn: string): string {
  const plain = (_: string, url: string, words = "") => (words === "" || words === url ? url : `${words} (${url})`);
  return unescaped(mrkdwn.replace(LINK, plain).replace(LINK, plain)); // twice, for an image in a link
}
