/** Reads Prometheus' text format and forgives nothing: what a scraper takes differently, or not at all, is an error here. */

export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedFamily {
  readonly help: string;
  readonly type: string;
  readonly series: Series[];
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`;
const HELP = new RegExp(String.raw`^# HELP (${NAME}) ((?:[^\\\n]|\\[\\n])*)$`);
const TYPE = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram)$`);
const SERIES = new RegExp(String.raw`^(${NAME})(?:\{((?:${LABEL})(?:,${LABEL})*)\})? (\S+)$`);

/** @throws Error naming the line and what is wrong with it */
export function parseExposition(text: string): Map<string, ParsedFamily> {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const families = new Map<string, ParsedFamily>();
  const seen = new Set<string>();
  let help: RegExpExecArray | undefined;
  let current: (ParsedFamily & { readonly name: string }) | undefined;
  for (const line of text.slice(0, -1).split("\n")) {
    const wrong = (why: string) => new Error(`${why}: ${line}`);
    const type = TYPE.exec(line);
    if (line.startsWith("# HELP ")) {
      help = HELP.exec(line) ?? undefined;
      if (!help) throw wrong("no help line");
    } else if (type) {
      const [, name = "", kind = ""] = type;
      if (help?.[1] !== name) throw wrong("its help is not above it");
      if (families.has(name)) throw wrong("a second family of that name");
      if (kind === "counter" && !name.endsWith("_total")) throw wrong("a counter is called _total");
      current = { name, help: help[2] ?? "", type: kind, series: [] };
      families.set(name, current);
    } else {
      const found = SERIES.exec(line);
      if (!found || !current) throw wrong("no series");
      const [, name = "", labels = "", number = ""] = found;
      const suffixes = current.type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
      if (!suffixes.some((suffix) => name === `${current?.name}${suffix}`)) throw wrong(`not of ${current.name}`);
      const value = valueOf(number);
      if (value === undefined || (current.type !== "gauge" && !(value >= 0))) throw wrong("no value");
      const one: Series = { name, labels: labelsOf(labels), value };
      const key = name + keyOf(one.labels);
      if (seen.has(key)) throw wrong("told twice");
      seen.add(key);
      current.series.push(one);
    }
  }
  for (const [name, { type, series }] of families) if (type === "histogram") checkHistogram(name, series);
  return families;
}

/** The same for the same labels in any order. */
export function keyOf(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map((pair) => JSON.stringify(pair));
  return pairs.toSorted((left, right) => (left < right ? -1 : 1)).join();
}

function valueOf(text: string): number | undefined {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(text) ? Number(text) : undefined;
}

function labelsOf(text: string): Record<string, string> {
  const pairs = [...text.matchAll(new RegExp(LABEL, "g"))].map(([pair]) => {
    const at = pair.indexOf("=");
    const value = pair.slice(at + 2, -1).replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
    return [pair.slice(0, at), value] as const;
  });
  const labels = Object.fromEntries(pairs);
  if (Object.keys(labels).length !== pairs.length) throw new Error(`a label twice: ${text}`);
  return labels;
}

/** Per set of labels: limits ascend to +Inf, counts never fall, the last one is the count. @throws Error */
function checkHistogram(name: string, series: readonly Series[]): void {
  const rest = (labels: Readonly<Record<string, string>>) => keyOf({ ...labels, le: "" });
  for (const key of new Set(series.map(({ labels }) => rest(labels)))) {
    const own = series.filter(({ labels }) => rest(labels) === key);
    const buckets = own.filter((one) => one.name === `${name}_bucket`);
    const limits = buckets.map(({ labels }) => valueOf(labels["le"] ?? "") ?? Number.NaN);
    const counts = buckets.map(({ value }) => value);
    const count = own.filter((one) => one.name === `${name}_count`).map(({ value }) => value);
    const rises = (list: readonly number[], by: number) =>
      list.every((one, index) => index === 0 || one - (list[index - 1] ?? 0) >= by);
    if (limits.at(-1) !== Number.POSITIVE_INFINITY || !rises(limits.slice(0, -1), Number.MIN_VALUE))
      throw new Error(`${name} ${key}: limits ${limits.join(" ")}`);
    if (!rises(counts, 0) || count.length !== 1 || counts.at(-1) !== count[0])
      throw new Error(`${name} ${key}: counts ${counts.join(" ")}, altogether ${count.join(" ")}`);
  }
}
