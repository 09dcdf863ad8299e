/** Loads the board as a server shows it to people who log in: one HTML file without any other. */
export async function loadHostedBoard(): Promise<string> {
  return (await import('./view/hosted/page.html')).default;
}

/** Loads the page on which they log in. */
export async function loadLoginPage(): Promise<string> {
  return (await import('./view/login/page.html')).default;
}
