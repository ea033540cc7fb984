// Turbo loads the page behind a link and puts its body in place of this one.
import '@hotwired/turbo'

const link = document.createElement('a')
link.href = '/install'
document.body.append(link)
