/** Parses a configuration value from the command line. */
import { parseJson5 } from "@svc/host/local";
import { WrongUsage } from "../output.ts";

/**
 * Parses valid JSON5; any other text is the value itself. `asText`: always the text.
 * Choice: invalid JSON5 that begins like an object, an array or a string is a mistake, not a text.
 * @throws WrongUsage for such a mistake
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
