/**
 * Prometheus text format, version 0.0.4, for values that are counted elsewhere. Pure.
 *
 * Choice: no library, since existing libraries export only what they count themselves; they cannot export the host's
 * histograms.
 */

/** One sample of a family. */
export interface Sample {
  /** Appended to the name of the family; only for histograms. */
  readonly suffix?: "_bucket" | "_sum" | "_count";
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** All samples of one metric. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Formats families; families without samples are omitted. */
export function expose(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, help, type, samples }) => {
      const lines = samples.map(
        ({ suffix = "", labels = {}, value }) => `${name}${suffix}${inBraces(labels)} ${text(value)}\n`,
      );
      return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
    })
    .join("");
}

function inBraces(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/** Formats a value or a bucket limit. */
export function text(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}
