/** Pictures that people attach. */
import { t } from "../../core/text.ts";
import { bytes } from "../../parts/time.ts";

/** A picture that is ready to be sent. */
export interface Picture {
  readonly name: string;
  readonly type: string;
  /** data URL */
  readonly url: string;
}

/** What the gateway accepts. Spec: protocol/methods-chat.md §2. */
const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const MAX_BYTES = 5_000_000;
/** Choice: together they fit into one frame of the protocol. */
const MAX_TOTAL_BYTES = 15_000_000;
export const ACCEPT = TYPES.join(",");

/** Reads files. @returns the pictures, and why other files are left out */
export async function readPictures(
  files: readonly File[],
  present: readonly Picture[],
): Promise<{ readonly pictures: readonly Picture[]; readonly refused: readonly string[] }> {
  const refused: string[] = [];
  const pictures: Picture[] = [];
  let total = present.reduce((sum, { url }) => sum + url.length * 0.75, 0);
  for (const file of files) {
    const { name, type, size } = file;
    if (!TYPES.includes(type)) refused.push(t.chat.onlyImages(name));
    else if (size > MAX_BYTES) refused.push(t.chat.tooLarge(name, bytes(size), bytes(MAX_BYTES)));
    else if (total + size > MAX_TOTAL_BYTES) refused.push(t.chat.tooMany(name, bytes(MAX_TOTAL_BYTES)));
    else {
      total += size;
      pictures.push({ name, type, url: await dataUrl(file) });
    }
  }
  return { pictures, refused };
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string); // readAsDataURL gives a text
    reader.onerror = () => reject(reader.error ?? new Error(file.name));
    reader.readAsDataURL(file);
  });
}
