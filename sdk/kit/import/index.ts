/** Importing the state of another product: `@svc/kit/import`. */
export { type ImportContext, type ImportOptions, runImport } from "./run.ts";
export { type ImportReport, readReport, reportLines } from "./report.ts";
export * from "./source.ts";
