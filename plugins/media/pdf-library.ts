/** Types of the library that reads PDFs; it is loaded by the process that reads them only. */
export type PdfLibrary = typeof import("unpdf");
export type PdfDocument = Awaited<ReturnType<PdfLibrary["getDocumentProxy"]>>;
