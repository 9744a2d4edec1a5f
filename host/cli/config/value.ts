/** A value of the configuration as people type it. */
import { parseJson5 } from "@svc/host/local";
import { WrongUsage } from "../output.ts";

/**
 * JSON5 where it is JSON5, else the text itself. `asText`: always the text.
 * Choice: what begins like an object, a list or a quoted text and is none is a slip, not a text.
 * @throws WrongUsage for such a slip
 */
export async function parseValue(text: string, asText: boolean): Promise<unknown> {
  if (asText) return text;
  const parsed = await parseJson5(text);
  if ("value" in parsed) {
    const { value } = parsed;
    return typeof value === "number" && !Number.isFinite(value) ? text : value; // a file cannot hold NaN
  }
  if (/^\s*[{["']/.test(text))
    throw new WrongUsage(
      `${text} is not JSON5: ${parsed.message}\nNext: correct it, or add --string to set it as text`,
    );
  return text;
}
