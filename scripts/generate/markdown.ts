/** The head of a generated page. */
export function heading(title: string): string {
  return `# ${title}\n\n<!-- Made by \`npm run generate\`. -->\n`;
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** A table; bars and line ends in cells would end them. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')).join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}
