/** Importing the state of another product: `@svc/kit/import`. */
export { type ExportedState, runExport } from "./export.ts";
export { type ImportContext, type ImportOptions, runImport } from "./run.ts";
export { CONVERTED, IMPORTS, type ImportReport, importsOf, itemLines, readReport, reportLines } from "./report.ts";
export * from "./source.ts";
export { copyFiles } from "./staging.ts";
